#[test]
fn even() { assert!(false); }

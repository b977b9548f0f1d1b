#[test]
fn even() { assert_eq!(half::half(4), 2); }

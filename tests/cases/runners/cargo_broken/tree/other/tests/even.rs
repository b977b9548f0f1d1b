#[test]
fn even() {
    missing();
}

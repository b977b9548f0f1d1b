#[cfg(test)]
mod tests {
    #[test]
    fn rounds() { assert_eq!(crate::half(3), 2, "half of 3"); }
    #[test]
    fn negative() { crate::half(-2); }
    #[test]
    #[ignore]
    fn later() {}
}

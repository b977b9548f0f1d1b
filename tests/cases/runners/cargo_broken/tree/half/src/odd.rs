#[cfg(test)]
mod tests {
    #[test]
    fn rounds() {}
}
fn twin() {}
fn twin() {}

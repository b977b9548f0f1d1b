namespace Example;
public static class Half { }

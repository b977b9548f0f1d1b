import java.util.List;
/** Holds things. */
public class Box<T> extends Shelf<T> implements Sized {
    int count = 1;
    Box() {}
    @Override
    public int size() { int local = helper("size"); return local; }
    interface Part extends Base { void open(); }
    enum Kind { SMALL }
}

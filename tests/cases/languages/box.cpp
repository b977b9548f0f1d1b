#include <shelf>
namespace shop {
class Box : public Shelf, private other::Part<int> {
 public:
  Box();
  int size() const { return helper("size"); }
};
template <typename T> T& pick(T item) { return item; }
}
int shop::Box::far() { return 1; }

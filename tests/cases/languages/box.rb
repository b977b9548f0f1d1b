require "shelf"
module Shop
  class Box < Base::Shelf
    LIMIT = 3
    # Counts.
    def size(deep) = helper("size #{deep}")
    def self.make; end
  end
end

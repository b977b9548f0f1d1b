require_relative "../lib/half"
RSpec.describe "half" do
  it("of even") { expect(half(4)).to eq 2 }
  it("of odd") { expect(half(3)).to eq 2 }
  it("of negative") { half(-2) }
  xit("later") { }
  [2, 3].each { |n| it("of each") { expect(half(n)).to eq 1 } }
end

# Formula for a tap. URL and checksum are those of the sdist of a release (docs/releasing.md);
# `brew update-python-resources` adds the resources.
class Coder < Formula
  include Language::Python::Virtualenv

  desc "Terminal coding assistant whose fixes come with proof"
  url "SDIST_URL"
  sha256 "SDIST_SHA256"
  license "MIT"

  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
    man1.install "docs/coder.1"
    generate_completions_from_executable(bin/"coder", "completion")
  end

  test do
    assert_match "PROVEN", shell_output("#{bin}/coder demo")
  end
end

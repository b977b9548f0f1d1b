using Xunit;

namespace Example.Tests;

public class HalfTests
{
}

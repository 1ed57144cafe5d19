import CDValues
import Foundation
import Testing

@Suite struct NumberSyntaxTests {
  @Test(arguments: ["0", "-1", "12.50", "1e5", "1E-5", "1.5e+3"])
  func strictNumbers(_ text: String) {
    #expect(NumberSyntax.isStrict(text))
    #expect(Decimal(wholeText: text) == Decimal(string: text))
  }

  @Test(arguments: ["+1", ".5", "5.", "+.5e3"])
  func otherNumbers(_ text: String) {
    #expect(!NumberSyntax.isStrict(text))
    #expect(Decimal(wholeText: text) == Decimal(string: text))
  }

  @Test(arguments: ["", "-", ".", "1-2", "1x", "e5", "1e", "--1", "1.2.3", " 1", "NaN", "٣"])
  func otherTexts(_ text: String) {
    #expect(!NumberSyntax.isStrict(text))
    #expect(Decimal(wholeText: text) == nil)
  }
}

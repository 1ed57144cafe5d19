import Testing

@testable import CDMigrationTesting

@Suite struct PatternSampleTests {
  @Test(arguments: [
    "[0-9-]{10,17}", "[A-Z]{2}", "(Mr|Mrs)\\. [A-Z][a-z]+", "\\d{3}-\\d{4}", "a?b*c+", "[^@]*", ".+@.+\\..+",
    "^x(?:yz){2}$", "[+-]?[0-9]+(\\.[0-9]+)?",
  ])
  func whatIsMadeMatches(pattern: String) throws {
    let regex = try Regex(pattern)
    for repeats in 0...5 {
      for seed in 0..<20 {
        guard let text = PatternSample(pattern, repeats: repeats, seed: seed).text else {
          // A class of what is not in it is not simple.
          #expect(pattern.contains("[^"))
          continue
        }
        #expect(text.wholeMatch(of: regex) != nil, "\(text)")
      }
    }
  }

  @Test(arguments: ["(?=a)a", "[a&&b]", "a)", "(a", "a{2", "\\p{L}", "*"])
  func whatIsNotSimpleGivesNothing(pattern: String) {
    #expect(PatternSample(pattern, repeats: 1, seed: 1).text == nil)
  }
}

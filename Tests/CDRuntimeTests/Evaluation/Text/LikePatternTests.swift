import CDModel
import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// LIKE under options that ignore differences.
@Suite struct LikePatternTests {
  private static let options: [ComparisonOptions] = [
    .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
  ]

  /// The letter ạ̇ in each of its forms: its marks in both orders, and composed with either of them.
  private static let forms = ["a\u{323}\u{307}", "a\u{307}\u{323}", "\u{1EA1}\u{307}", "\u{227}\u{323}"]

  @Test(.onceForAllKinds, arguments: options) func equivalentTextsMatchAlike(options: ComparisonOptions) {
    for pattern in Self.forms + Self.forms.map({ $0.uppercased() }) + ["?", "??", "???", "a*", "*b", "?*"] {
      let like = LikePattern(pattern, options)
      let results = Set(Self.forms.map { like.matches($0) })
      #expect(results.count == 1, "\(pattern.unicodeScalars.map(\.value)) \(options)")
    }
    for pattern in Self.forms { #expect(LikePattern(pattern, options).matches(Self.forms[0])) }
    for pattern in Self.forms {
      let like = LikePattern("*" + pattern + "?", options)
      #expect(Self.forms.allSatisfy { like.matches("b" + $0 + "b") })
    }
  }

  @Test(.onceForAllKinds) func aLetterHasAllItsMarks() {
    for text in [
      "\u{E9}", "e\u{301}", "q\u{307}\u{323}", "\u{1E9E}", "\u{D55C}", "\u{1112}\u{1161}\u{11AB}",
    ] {
      #expect(LikePattern("?", .caseInsensitive).matches(text), "\(text)")
      #expect(!LikePattern("??", .caseInsensitive).matches(text), "\(text)")
      #expect(LikePattern("a?*", .caseInsensitive).matches("a" + text), "\(text)")
      #expect(!LikePattern("*\u{301}", .caseInsensitive).matches("a" + text), "\(text)")
    }
    // Without options, code points are compared as they are.
    #expect(LikePattern("??", []).matches("e\u{301}") && !LikePattern("?", []).matches("e\u{301}"))
    // Only the lowercase letter has a composed form with the caron.
    #expect(LikePattern("J\u{323}\u{30C}", .caseInsensitive).matches("\u{1F0}\u{323}"))
    // Its mark is a part of the letter.
    for text in ["\u{304C}", "\u{304B}\u{3099}"] {
      #expect(LikePattern("\u{304C}", .diacriticInsensitive).matches(text))
      #expect(!LikePattern("\u{304B}", .diacriticInsensitive).matches(text))
    }
  }

  @Test(.onceForAllKinds, arguments: options)
  func aPatternWithoutWildcardsMatchesEqualTexts(options: ComparisonOptions) {
    let letters = Array("aAbßsSéEjJ\u{301}\u{327}\u{323}\u{307}\u{30C}\u{1F0}-İiıΣςạȧ".unicodeScalars)
    var random = SplitMix(seed: 21)
    func makeText() -> String {
      var text = String.UnicodeScalarView()
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        text.append(letters[Int.random(in: 0..<letters.count, using: &random)])
      }
      return String(text)
    }
    for _ in 0..<2000 {
      let text = makeText()
      for other in [
        Self.exchangingTheLast(text), text.decomposedStringWithCanonicalMapping, text.uppercased(),
        text.precomposedStringWithCanonicalMapping,
      ] {
        let isEqual = TextComparison.areEqual(text, other, options)
        #expect(LikePattern(other, options).matches(text) == isEqual, "\(text) \(other)")
        #expect(LikePattern(text, options).matches(other) == isEqual, "\(text) \(other)")
      }
    }
  }

  // A text with one other letter must not cost more for each of its ASCII letters. Their keys are those of Foundation.
  @Test(.onceForAllKinds, arguments: options)
  func asciiLettersOfOtherTextsHaveTheKeysOfFoundation(options: ComparisonOptions) {
    for value in UInt8(1)..<0x80 {
      let letter = String(Unicode.Scalar(value))
      let folded = FoundationText.folded(letter, options)
      for rest in ["ä", "\u{301}ä", "\u{304C}"] {
        #expect(TextComparison.areEqual(letter + rest, folded + rest, options), "\(value) \(options)")
        // The backslash takes its meaning away from a wildcard.
        let like = LikePattern("\\" + folded + rest, options)
        #expect(like.matches(letter + rest), "\(value) \(options)")
      }
    }
  }

  /// Returns a text with its last two code points exchanged.
  private static func exchangingTheLast(_ text: String) -> String {
    var scalars = Array(text.decomposedStringWithCanonicalMapping.unicodeScalars)
    if scalars.count > 1 { scalars.swapAt(scalars.count - 1, scalars.count - 2) }
    var result = String.UnicodeScalarView()
    result.append(contentsOf: scalars)
    return String(result)
  }

  @Test func aStoreFindsEquivalentTexts() throws {
    let store = try TemporaryStore()
    let context = try store.freshContext()
    for form in Self.forms { _ = Tag(name: form, in: context) }
    try context.save()
    for pattern in Self.forms {
      let predicate = try FetchPredicate(format: "name LIKE[c] %@", arguments: [pattern.uppercased() + "*"])
      #expect(try context.count(for: FetchRequest<Tag>(where: predicate)) == 4)
    }
  }
}

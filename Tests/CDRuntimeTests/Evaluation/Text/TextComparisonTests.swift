import CDModel
import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// The order of strings under options that ignore differences.
@Suite struct TextComparisonTests {
  private static let options: [ComparisonOptions] = [
    .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
  ]

  private static func text(_ letters: [Unicode.Scalar], _ random: inout SplitMix) -> String {
    var text = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      text.append(letters[Int.random(in: 0..<letters.count, using: &random)])
    }
    return String(text)
  }

  /// ASCII and common letters have faster ways, so no key of a letter may depend on its neighbours.
  @Test(arguments: options)
  func allWaysGiveTheOrderOfTheKeys(options: ComparisonOptions) {
    let alphabets = [
      (0x20..<0x7F).compactMap(Unicode.Scalar.init), (0x20..<0x530).compactMap(Unicode.Scalar.init),
      Array("aAbBßsSéE\u{301}\u{327}\u{34F}\u{488}-İiıΣς𐐁𐐩ﬁ\u{1FCD}".unicodeScalars),
    ]
    let keys = TextKeys.keys(under: options)
    var random = SplitMix(seed: 13)
    for letters in alphabets {
      for _ in 0..<3000 {
        // Random texts would hardly ever have equal beginnings.
        let start = Self.text(letters, &random)
        let (left, right) = (Self.text(letters, &random), Self.text(letters, &random))
        for (left, right) in [
          (left, right), (start + left, start + right), (start + left, start.uppercased() + right),
          (start, start.lowercased()), (start.decomposedStringWithCanonicalMapping, start),
        ] {
          let order = TextComparison.order(left, right, options).signum()
          #expect(order == keys.orderOfKeys(left, right).signum(), "\(left) \(right)")
          #expect(order == -TextComparison.order(right, left, options).signum(), "\(left) \(right)")
        }
      }
    }
  }

  @Test func lettersAreEqualIfFoundationSaysSo() {
    for value in Array(0x41..<0x250) + Array(0x386..<0x3CF) + Array(0x400..<0x510) {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = String(scalar)
      for options in Self.options {
        var foundation: NSString.CompareOptions = []
        if options.contains(.caseInsensitive) { foundation.insert(.caseInsensitive) }
        if options.contains(.diacriticInsensitive) { foundation.insert(.diacriticInsensitive) }
        for other in [
          text.lowercased(), text.uppercased(), text.folding(options: foundation, locale: nil),
          text.decomposedStringWithCanonicalMapping,
        ] {
          let isEqual = text.compare(other, options: foundation) == .orderedSame
          #expect((TextComparison.order(text, other, options) == 0) == isEqual, "\(text) \(other) \(options)")
        }
      }
    }
  }

  @Test func marksOfLettersAreNoDiacritics() {
    for (left, right, isEqual) in [
      ("が", "か", false), ("कि", "क", false), ("e\u{301}", "e", true), ("ё", "е", true), ("\u{301}", "", false),
    ] {
      #expect((TextComparison.order(left, right, .diacriticInsensitive) == 0) == isEqual, "\(left) \(right)")
    }
  }

  @Test(arguments: options + [[]])
  func noPartContinuesBehindTheEnd(options: ComparisonOptions) {
    for place in [SearchAnchor.start, .anywhere, .end] {
      #expect(!TextSearch("a\0\0", options).isFound(in: "éa", at: place))
      #expect(!TextSearch("éa\0", options).isFound(in: "éa", at: place))
    }
    #expect(TextSearch("a\0", options).isFound(in: "éa\0b", at: .anywhere))
  }

  /// Foundation says of some of these names that each comes after the other.
  @Test(arguments: options)
  func namesWithAccentsHaveAnOrder(options: ComparisonOptions) throws {
    let names = ["Aéro", "Anna", "Åse", "Ämter", "Édouard", "Eder", "Örebro", "Oslo", "Ute", "Über"]
    let sorted = names.sorted { TextComparison.order($0, $1, options) < 0 }
    for (number, name) in sorted.enumerated() {
      for other in sorted[(number + 1)...] {
        #expect(TextComparison.order(name, other, options) < 0)
        #expect(TextComparison.order(other, name, options) > 0)
      }
    }
    let store = try TemporaryStore()
    let context = try store.freshContext()
    for name in names { _ = Tag(name: name, in: context) }
    try context.save()
    var request = FetchRequest<Tag>()
    request.sortKeys = [SortKey("name", options: options)]
    #expect(try context.fetch(request).map(\.name) == sorted)
    let letters =
      (options.contains(.caseInsensitive) ? "c" : "") + (options.contains(.diacriticInsensitive) ? "d" : "")
    for (number, name) in sorted.enumerated() {
      request.predicate = try FetchPredicate(format: "name >[\(letters)] %@", arguments: [name])
      #expect(try context.fetch(request).map(\.name) == Array(sorted[(number + 1)...]))
    }
  }
}

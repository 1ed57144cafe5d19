import Foundation
import Testing

@testable import CDRuntime

/// XML that somebody has made to do harm, or has edited without care.
@Suite(.onceForAllKinds) struct HostileXMLTests {
  private let file: HostileFile

  init() throws { file = try HostileFile() }

  private func outcome(_ change: (String) -> String) throws -> HostileFile.Outcome {
    let whole = String(decoding: try file.make(.xml), as: UTF8.self)
    let changed = change(whole)
    try #require(changed != whole)
    return try file.outcome(Data(changed.utf8), .xml)
  }

  private func error(_ old: String, _ new: String) throws -> StoreFormatError? {
    try outcome { whole in
      guard let range = whole.range(of: old) else { return whole }
      return whole.replacingCharacters(in: range, with: new)
    }.error
  }

  @Test func entityBombsAreNotLit() throws {
    var laughs = "<!DOCTYPE lolz [<!ENTITY lol \"lol\">"
    for level in 1...9 {
      let before = level == 1 ? "&lol;" : "&lol\(level - 1);"
      laughs += "<!ENTITY lol\(level) \"\(String(repeating: before, count: 10))\">"
    }
    let parameter =
      "<!DOCTYPE x [<!ENTITY % file SYSTEM \"file:///etc/passwd\"><!ENTITY % all \"%file;%file;\">%all;]>"
    let external = "<!DOCTYPE x [<!ENTITY e SYSTEM \"http://127.0.0.1:1/x\">]>"
    for bomb in [laughs + "]>", parameter, external, "<!DOCTYPE x>", "<!ELEMENT x ANY>"] {
      for place in ["<cdgen", "<metadata>", "<entry ", "<objects ", "<object ", "<value ", "</cdgen>"] {
        let found = try error(place, bomb + place)
        #expect(found?.reason == .documentType, "\(bomb.prefix(20)) before \(place)")
        #expect(found?.line != nil && found?.column != nil)
      }
      #expect(try error(">Walden<", ">\(bomb)<")?.reason == .documentType)
      #expect(try error("</cdgen>", "</cdgen>" + bomb)?.reason == .documentType)
    }
    for reference in ["&lol9;", "%file;&e;", "&#x;", "&#xD800;", "&#1114112;", "&#99999999999;", "&;"] {
      let isCharacter = reference.hasPrefix("&#")
      for (old, new) in [
        (">Walden<", ">\(reference)<"), ("<value name=\"", "<value name=\"\(reference)"),
      ] {
        let reason = try error(old, new)?.reason
        #expect(
          reason == (isCharacter ? .syntax("a character that XML does not allow") : .documentType), "\(new)")
      }
    }
  }

  @Test func depthCostsNothing() throws {
    let clock = ContinuousClock()
    let count = 100_000
    let time = try clock.measure {
      for name in ["a", "objects", "metadata", "value", "cdgen"] {
        let deep = String(repeating: "<\(name)>", count: count)
        for place in ["<metadata>", "<entry ", "<objects ", "<object ", "<value "] {
          let found = try error(place, deep + place)
          guard case .syntax? = found?.reason else {
            Issue.record("\(name) before \(place): \(String(describing: found))")
            continue
          }
        }
      }
      // Within a comment there is none.
      let text = String(repeating: "<a>", count: count)
      #expect(try error("<metadata>", "<!--\(text)--><metadata>") == nil)
      #expect(try error("<metadata>", "<!------><!-- - - ---><?a?b??><metadata>") == nil)
      #expect(try error("<metadata>", "<!--\(text)->")?.reason == .truncated)
    }
    #expect(time < .seconds(30))
  }

  @Test(arguments: ["<!--", "<?a "]) func whatIsReadOverIsText(_ start: String) throws {
    let end = start == "<!--" ? "-->" : "?>"
    let whole = String(decoding: try file.make(.xml), as: UTF8.self)
    let place = try #require(whole.range(of: "<metadata>"))
    func reason(_ bytes: [UInt8]) throws -> StoreFormatError.Reason? {
      let data =
        Data(whole[..<place.lowerBound].utf8) + Data(start.utf8) + Data(bytes) + Data(end.utf8)
        + Data(whole[place.lowerBound...].utf8)
      return try file.outcome(data, .xml).error?.reason
    }
    // A long one is looked at in portions, which may end in any place of a character.
    for padding in 4090...4100 {
      let text = [UInt8](repeating: 0x78, count: padding) + Array(String(repeating: "é€😀", count: 2000).utf8)
      #expect(try reason(text) == nil, "\(padding)")
      #expect(try reason(text + [0xC3]) == .encoding)
      #expect(try reason(Array(text.dropLast(4))) == nil)
      #expect(try reason(Array(text.dropLast(1))) == .encoding)
    }
    for bytes: [UInt8] in [
      [0xFF], [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80], [UInt8](repeating: 0x80, count: 9000),
    ] {
      #expect(try reason(bytes) == .encoding, "\(bytes.prefix(4))")
    }
  }

  @Test func aModelThatIsDeepIsRefused() throws {
    let deep = String(repeating: "[", count: 100_000)
    #expect(
      try error("<entry key=\"version\">", "<entry key=\"version\">\(deep)")?.reason
        == .metadata(key: "version"))
  }

  @Test func aModelThatIsNotItsHashsIsRefused() throws {
    #expect(
      try error("<entry key=\"dataHash\">", "<entry key=\"dataHash\">0")?.reason
        == .metadata(key: "dataHash"))
    // A property that no object has a value of.
    let found = try outcome { $0.replacing("\"prequel\"", with: "\"prequal\"") }
    #expect(!found.isOpened)
    #expect(try error("format=\"1\"", "format=\"0\"")?.reason == .syntax("'cdgen' of an unknown format"))
    #expect(try error("format=\"1\"", "format=\"-1\"")?.reason == .syntax("'cdgen' of an unknown format"))
  }

  @Test(arguments: [
    ("added", "2001-02-29T00:00:00Z", "Book"), ("added", "99999-01-01T00:00:00Z", "Book"),
    ("added", "1e999", "Book"), ("added", "nan", "Book"), ("added", "", "Book"),
    ("salesRank", "9223372036854775808", "Book"), ("salesRank", "1.5", "Book"),
    ("salesRank", "0x10", "Book"), ("priority", "32768", "Book"), ("price", "1e999", "Book"),
    ("price", "NaN", "Book"), ("uuid", "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7", "Book"),
    ("uuid", "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7AG", "Book"), ("author", "1.0", "Book"),
    ("author", "99999999999999999999", "Book"), ("issue", "2147483648", "Magazine"),
    ("stars", "40000", "Review"), ("stars", "true", "Review"),
  ]) func valuesOutOfRangeAreRefused(_ property: String, _ value: String, _ entity: String) throws {
    let whole = String(decoding: try file.make(.xml), as: UTF8.self)
    let table = try #require(whole.range(of: "<objects name=\"\(entity)\""))
    let start = try #require(
      whole.range(of: "<value name=\"\(property)\">", range: table.upperBound..<whole.endIndex))
    let end = try #require(whole.range(of: "</value>", range: start.upperBound..<whole.endIndex))
    let bytes = Data(whole.replacingCharacters(in: start.upperBound..<end.lowerBound, with: value).utf8)
    let error = try #require(try file.outcome(bytes, .xml).error, "\(value)")
    guard case .invalidValue(entity, property, _?) = error.reason else {
      Issue.record("\(error)")
      return
    }
    let before = whole[..<start.lowerBound]
    #expect(error.line == before.count { $0 == "\n" } + 1)
    #expect(error.column == (before.lastIndex(of: "\n").map { before[$0...].utf8.count } ?? 0))
  }

  @Test func anErrorSaysWhereAndWhatToDo() throws {
    let error = try #require(
      try error("<value name=\"title\">Walden</value>", "<value name=\"title\">Walden</vulue>"))
    let whole = String(decoding: try file.make(.xml), as: UTF8.self)
    let place = try #require(whole.range(of: "<value name=\"title\">Walden</v"))
    let line = whole[..<place.lowerBound].count { $0 == "\n" } + 1
    #expect(error == StoreFormatError(.syntax("'value' does not end"), line: line, column: 37))
    let twice = try #require(try self.error("<object key=\"2\"", "<object key=\"1\""))
    #expect(twice.reason == .duplicateKey(entity: "Magazine", key: 1) && twice.column == 1)
    #expect(
      "\(twice)"
        == "line \(twice.line ?? 0), column 1: 'Magazine' p1 occurs twice; remove one of the two rows, or give it "
        + "a new key"
    )
  }

  @Test func pairsThatAreThereTwiceAreRefused() throws {
    let pair = "<row source=\"1\" target=\"1\""
    let whole = String(decoding: try file.make(.xml), as: UTF8.self)
    let pairs = try #require(whole.range(of: "<pairs name=\"Book.tags\">"))
    let start = try #require(whole.range(of: pair, range: pairs.upperBound..<whole.endIndex))
    let end = try #require(whole.range(of: "/>", range: start.upperBound..<whole.endIndex))
    let row = String(whole[start.lowerBound..<end.upperBound])
    #expect(try error(row, row + row)?.reason == .duplicateKey(entity: "Book.tags", key: nil))
  }

  /// A key of the right table, and of an object of another entity than the relationship leads to.
  @Test func aReferenceToAnObjectOfAnotherEntityDoesNoHarm() throws {
    let outcome = try outcome { whole in
      whole.replacing("<value name=\"favourite\">1<", with: "<value name=\"favourite\">2<")
        .replacing("<value name=\"book\">1<", with: "<value name=\"book\">2<")
    }
    // Keys count from one in a table, which Book and Magazine share.
    #expect(outcome.isOpened)
  }
}

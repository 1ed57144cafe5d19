import CDSchema
import Foundation
import Testing

/// Files that are no text, are far too large or were made to do harm. Each gets a diagnostic.
@Suite("Hostile input")
struct HostileInputTests {
  private let head = Array("id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\n".utf8)
  private let good = "entities: { Book: { attributes: { title: String } } }\n"

  private func diagnostics(_ bytes: [UInt8]) -> String {
    ModelLoader.load(name: "Case", files: ["model.yaml": head, "1.yaml": bytes]).diagnostics.text
  }

  @Test func fileTooLarge() {
    let bytes = [UInt8](repeating: UInt8(ascii: "#"), count: 50_000_000)
    #expect(
      diagnostics(bytes)
        == "1.yaml:1:1: error: the file has 50000000 bytes; a model's file may have 8388608 at most\n")
  }

  @Test("a large file within the limit loads")
  func largeFile() {
    var text = "entities:\n"
    for number in 0..<2000 {
      text += "  Entity\(number):\n    attributes:\n"
      for attribute in 0..<20 { text += "      attribute\(attribute): String?\n" }
    }
    #expect(load(version: text).diagnostics == [])
  }

  @Test(arguments: [("[", "]"), ("{ a: ", "}")])
  func deepNesting(_ opening: String, _ closing: String) {
    let depth = 100_000
    let text =
      "doc: " + String(repeating: opening, count: depth) + "x" + String(repeating: closing, count: depth)
    let column = 6 + 63 * opening.count
    #expect(
      diagnostics(Array(text.utf8))
        == "1.yaml:1:\(column): error: more than 64 mappings and lists within one another\n")
  }

  @Test func deepBlockNesting() {
    var text = ""
    for depth in 0..<1000 { text += String(repeating: " ", count: depth) + "a:\n" }
    #expect(
      diagnostics(Array(text.utf8))
        == "1.yaml:65:65: error: more than 64 mappings and lists within one another\n")
  }

  @Test func tooManyValues() {
    let text = "a: [" + String(repeating: "x,", count: 1_000_010) + "x]"
    #expect(
      diagnostics(Array(text.utf8)) == "1.yaml:1:1999999: error: more than 1000000 values in one file\n")
  }

  @Test("an alias bomb is refused without being expanded")
  func aliasBomb() {
    var text = "a0: &a0 [x, x]\n"
    for level in 1...30 {
      text +=
        "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", "))]\n"
    }
    let lines = diagnostics(Array(text.utf8)).split(separator: "\n")
    #expect(lines.filter { $0.contains("is read by YAML as an anchor") }.count == 31)
    #expect(lines.filter { $0.contains("is read by YAML as an alias") }.count == 300)
  }

  @Test func byteOrderMark() {
    #expect(
      diagnostics([0xEF, 0xBB, 0xBF] + Array(good.utf8))
        == "1.yaml:1:1: error: the file starts with a byte order mark; save it as UTF-8 without one\n")
    #expect(
      diagnostics(Array("entities:\n  \u{FEFF}Book: {}\n".utf8))
        == "1.yaml:2:3: error: the character U+FEFF is not allowed; "
        + "in a double-quoted text write it as an escape\n")
  }

  @Test(arguments: [true, false], [true, false])
  func utf16(isLittleEndian: Bool, hasMark: Bool) {
    var bytes: [UInt8] = hasMark ? (isLittleEndian ? [0xFF, 0xFE] : [0xFE, 0xFF]) : []
    for unit in good.utf16 {
      let pair = [UInt8(unit & 0xFF), UInt8(unit >> 8)]
      bytes += isLittleEndian ? pair : pair.reversed()
    }
    #expect(diagnostics(bytes) == "1.yaml:1:1: error: the file is in UTF-16; save it as UTF-8\n")
  }

  @Test func utf32() {
    let bytes: [UInt8] = [0xFF, 0xFE, 0, 0] + good.utf8.flatMap { [$0, 0, 0, 0] as [UInt8] }
    #expect(diagnostics(bytes) == "1.yaml:1:1: error: the file is in UTF-32; save it as UTF-8\n")
  }

  @Test func notUTF8() {
    let bytes = Array("entities:\n  Grö".utf8) + [0xDF, 0x65] + Array(": {}\n".utf8)
    #expect(diagnostics(bytes) == "1.yaml:2:6: error: not UTF-8 from here on; save the file as UTF-8\n")
    let latin1: [UInt8] = Array("entities:\n  Gr".utf8) + [0xF6] + Array("n: {}\n".utf8)
    #expect(diagnostics(latin1) == "1.yaml:2:5: error: not UTF-8 from here on; save the file as UTF-8\n")
  }

  @Test(arguments: [("\0", "U+0000"), ("\u{7}", "U+0007"), ("\u{7F}", "U+007F"), ("\u{FFFF}", "U+FFFF")])
  func controlCharacters(_ character: String, _ name: String) {
    #expect(
      diagnostics(Array("entities:\n  Bo\(character)ok: {}\n".utf8))
        == "1.yaml:2:5: error: the character \(name) is not allowed; "
        + "in a double-quoted text write it as an escape\n")
  }

  @Test("random bytes and cut files never do harm", arguments: 0..<300)
  func randomDamage(_ seed: Int) throws {
    var random = Splitmix(state: UInt64(seed))
    let folders = CaseFolder.all
    let folder = folders[seed % folders.count]
    guard var bytes = try folder.files()["1.yaml"], !bytes.isEmpty else { return }
    for _ in 0...(random.next() % 4) {
      let place = Int(random.next() % UInt64(bytes.count))
      switch random.next() % 3 {
      case 0: bytes[place] = Array("{}[]:,#&*!|>'\"%@-? \n\t".utf8)[Int(random.next() % 21)]
      case 1: bytes.remove(at: place)
      default: bytes.removeSubrange(place...)
      }
      if bytes.isEmpty { break }
    }
    let loaded = ModelLoader.load(name: "Case", files: ["model.yaml": head, "1.yaml": bytes])
    #expect((loaded.model == nil) == loaded.hasErrors)
    for diagnostic in loaded.diagnostics {
      #expect(diagnostic.location.line >= 1 && diagnostic.location.column >= 1)
    }
  }
}

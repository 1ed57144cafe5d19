import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Files with a bit that is another, or that end early. What has a checksum is refused, always; XML, which people edit
/// and which has none, is refused or is another store, which is then used like any.
///
/// `CDGEN_THOROUGH=1` takes every bit of the small files, and a thousand of the great ones.
@Suite(.onceForAllKinds) struct EveryBitTests {
  private let file: HostileFile

  init() throws { file = try HostileFile() }

  @Test func everyFlippedBitOfABinaryStoreIsNoticed() throws {
    let whole = try file.make(.binary)
    for place in stride(from: 0, to: whole.count, by: isThorough ? 1 : 3) {
      for bit in isThorough ? 0..<8 : place % 8..<place % 8 + 1 {
        var bytes = whole
        bytes[place] ^= 1 << UInt8(bit)
        let error = try file.outcome(bytes, .binary).error
        let found = try #require(error, "byte \(place), bit \(bit)")
        // The block, and none behind the damage.
        let offset = try #require(found.offset, "\(found)")
        #expect(offset <= place, "byte \(place): \(found)")
      }
    }
  }

  @Test(arguments: [StoreKind.xml, .json])
  func aFlippedBitOfATextIsRefusedOrReads(_ kind: StoreKind) throws {
    let whole = try file.make(kind)
    var opened = 0
    var refused = 0
    for place in stride(from: 0, to: whole.count, by: isThorough ? 1 : 23) {
      for bit in isThorough ? 0..<8 : place % 8..<place % 8 + 1 {
        var bytes = whole
        bytes[place] ^= 1 << UInt8(bit)
        do {
          let outcome = try file.outcome(bytes, kind)
          if outcome.isOpened { opened += 1 } else { refused += 1 }
          if kind == .xml, let error = outcome.error { expectPlace(error, of: place, in: whole) }
        } catch { throw Difference(description: "byte \(place), bit \(bit): \(error)") }
      }
    }
    #expect(opened > 0 && refused > 0)
  }

  @Test func anAmpersandIsToldWhereItStands() throws {
    let whole = try file.make(.xml)
    for place in stride(from: 0, to: whole.count, by: isThorough ? 1 : 29) {
      var bytes = whole
      bytes[place] = UInt8(ascii: "&")
      // In a comment or a text that goes on with a reference's rest it may mean something.
      guard let error = try file.outcome(bytes, .xml).error else { continue }
      expectPlace(error, of: place, in: whole)
      if error.reason == .documentType || error.reason == .syntax("an '&' that does not begin a reference") {
        let line = whole[..<place].count { $0 == 0x0A } + 1
        #expect(error.line == line || error.line == line + 1, "byte \(place), line \(line): \(error)")
      }
    }
  }

  /// The place that an error names is not behind the line of the damage, unless a line's end was damaged, an element
  /// goes on that has ended before, or what is wrong is found by
  /// something else: an object that others lead to, a model by its hash.
  private func expectPlace(_ error: StoreFormatError, of place: Int, in whole: Data) {
    switch error.reason {
    case .syntax, .truncated, .notUnique, .danglingReference, .duplicateKey, .metadata: return
    default: break
    }
    let line = whole[..<place].count { $0 == 0x0A } + 1
    #expect((error.line ?? .max) <= line + 1 && error.column != nil, "byte \(place), line \(line): \(error)")
  }

  @Test(arguments: [StoreKind.xml, .binary, .json]) func everyCutIsNoticed(_ kind: StoreKind) throws {
    let whole = try file.make(kind)
    // The line feed at the end of XML says nothing.
    let last = kind == .xml ? whole.count - 2 : whole.count - 1
    for length in stride(from: 1, through: last, by: isThorough ? 1 : kind == .binary ? 3 : 31) {
      let outcome = try file.outcome(whole.prefix(length), kind)
      if kind == .json {
        #expect(!outcome.isOpened)
      } else {
        #expect(outcome.error?.reason == .truncated, "\(length) of \(whole.count) bytes: \(outcome)")
      }
    }
  }

  @Test(arguments: [StoreKind.xml, .binary]) func damageOfAGreatFileIsNoticed(_ kind: StoreKind) throws {
    let whole = try file.make(kind, authors: isThorough ? 3000 : 700)
    #expect(whole.count > 2 * BinaryStoreFormat.blockSize)
    var random = SplitMix(seed: 7)
    for _ in 0..<(isThorough ? 500 : 5) {
      let length = Int.random(in: 1..<whole.count - 2, using: &random)
      #expect(try file.outcome(whole.prefix(length), kind).error?.reason == .truncated, "\(length)")
      var bytes = whole
      let place = Int.random(in: 0..<whole.count, using: &random)
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      let outcome = try file.outcome(bytes, kind)
      if kind == .binary { #expect(outcome.error != nil, "byte \(place)") }
    }
  }
}

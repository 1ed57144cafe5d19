import CDSchema
import CDXcode
import Foundation
import Testing

@Suite("Versions in a doubtful order") struct SuspectVersionOrderTests {
  private func entity(_ name: String) -> String {
    "<entity name='\(name)'>"
      + ["one", "two", "three"].map { "<attribute name='\($0)' optional='YES' attributeType='String'/>" }
      .joined()
      + "</entity>"
  }

  private func doubts(_ versions: [[String]], order: String? = nil) -> [String] {
    let named = versions.enumerated().map { ("Shop \($0.offset + 1)", $0.element.map(entity).joined()) }
    return ImportTests.run(named, order: order).diagnostics.map(\.message).filter { $0.contains("sibling") }
  }

  @Test func aSiblingThatStandsBehindItsSiblingIsNoticed() {
    // Two people worked on B and C at once.
    let found = doubts([["A"], ["A", "B"], ["A", "C"], ["A", "B", "C"]])
    #expect(
      found == [
        "version 'Shop 3' lacks 4 entities and properties that 'Shop 2' before it has and 'Shop 4' has again: if it is a "
          + "sibling of 'Shop 2', write 'Shop 3 <- Shop 1' and 'Shop 4 <- Shop 2, …' into a file for --order; if the order "
          + "is another, write that"
      ])
  }

  @Test func whoHasSaidWhatFollowsWhatIsNotAsked() {
    let versions = [["A"], ["A", "B"], ["A", "C"], ["A", "B", "C"]]
    #expect(
      doubts(versions, order: "Shop 1\nShop 2\nShop 3 <- Shop 1\nShop 4 <- Shop 2, Shop 3\n") == [])
  }

  @Test func whatIsDroppedForGoodOrWasThereBeforeIsNoDoubt() {
    #expect(doubts([["A"], ["A", "B"], ["A", "C"], ["A", "C", "D"]]) == [])
    // It was dropped, and is back: what the one before is based on had it too.
    #expect(doubts([["A", "B"], ["A", "B", "C"], ["A", "C"], ["A", "B", "C"]]) == [])
  }
}

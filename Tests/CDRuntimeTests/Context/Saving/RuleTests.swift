import CDRuntime
import Foundation
import Testing

/// The rules of attributes at their edges.
@Suite struct RuleTests {
  private static func model(pattern: String? = nil) -> ManagedObjectModel {
    let note = EntityDescription(
      name: "Note",
      attributes: [
        AttributeDescription(
          name: "text", type: .string, isOptional: true, minimumLength: 2, maximumLength: 3),
        AttributeDescription(name: "code", type: .string, isOptional: true, pattern: pattern),
      ])
    return ManagedObjectModel(
      name: "Notes", id: UUID(), versions: [ModelVersion(number: 1, entities: [note])],
      currentVersionNumber: 1)
  }

  private typealias Reason = ValidationError.Reason

  private func reasons(_ key: String, _ text: String, pattern: String? = nil) throws -> [Reason] {
    let context = try PersistentContainer(scratchModel: Self.model(pattern: pattern)).newContext()
    let note = try context.insert(entityNamed: "Note")
    try note.setValue(text, forKey: key)
    return context.validationErrors(of: note).map(\.reason)
  }

  @Test(arguments: [
    ("e\u{301}e\u{301}e\u{301}", true), ("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}!", true),
    ("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", false), ("\r\n", false), ("abcd", false),
  ])
  func lengthsCountCharacters(text: String, isFine: Bool) throws {
    #expect(try reasons("text", text) == (isFine ? [] : [.wrongLength]))
  }

  @Test(arguments: [("a|ab", "ab"), ("[0-9]+ # digits", "12"), ("(?x) [0-9]+ # digits", "12")])
  func theWholeStringMatches(pattern: String, text: String) throws {
    let isFine = pattern != "[0-9]+ # digits"
    #expect(try reasons("code", text, pattern: pattern) == (isFine ? [] : [.patternMismatch]))
    #expect(try reasons("code", text + "\n", pattern: pattern) == [.patternMismatch])
  }

  @Test(arguments: ["(", "a)(b"])
  func aPatternThatIsNoneIsSaid(pattern: String) throws {
    #expect(try reasons("code", "ab", pattern: pattern) == [.unusablePattern])
  }

  @Test(.timeLimit(.minutes(10))) func aPatternThatBacktracksIsGivenUp() throws {
    let text = String(repeating: "a", count: 60)
    #expect(try reasons("code", text, pattern: "(.*a){30}b") == [.patternTooCostly])
  }
}

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
        AttributeDescription(
          name: "stars", type: .int16, isOptional: true, minimum: .int(1), maximum: .int(5)),
        AttributeDescription(name: "scan", type: .data, isOptional: true, minimumLength: 2),
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

  @Test func aMessageNamesTheBoundAndTheValue() throws {
    let context = try PersistentContainer(scratchModel: Self.model()).newContext()
    func message(_ value: some AttributeValueConvertible, _ key: String) throws -> String? {
      let note = try context.insert(entityNamed: "Note")
      try note.setValue(value, forKey: key)
      let errors = context.validationErrors(of: note)
      #expect(errors.count == 1)
      let start = "'Note.\(key)' of \(note.objectID) "
      return errors.first.map { "\($0)".replacing(start, with: "") }
    }
    #expect(try message(0, "stars") == "is 0, below the minimum of 1")
    #expect(try message(9, "stars") == "is 9, above the maximum of 5")
    #expect(try message("abcd", "text") == "has 4 characters, more than the maximum of 3")
    #expect(try message("a", "text") == "has 1 character, fewer than the minimum of 2")
    #expect(try message(Data([1]), "scan") == "has 1 byte, fewer than the minimum of 2")
    let note = try context.insert(entityNamed: "Note")
    let error = ValidationError(
      reason: .outOfRange, entity: "Note", property: "stars", objectID: note.objectID)
    #expect(error.brokenBound == nil && "\(error)".hasSuffix("is below its minimum or above its maximum"))
    try note.setValue(9, forKey: "stars")
    // The bound explains the error, and does not tell it from another.
    #expect(context.validationErrors(of: note) == [error])
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

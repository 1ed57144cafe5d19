import CDGenerator
import CDModel
import Foundation
import Testing

/// A model that was made in code need not hold together. The generator then says all that is wrong, and gives
/// nothing.
@Suite struct GenerationErrorTests {
  private func problems(_ version: ModelVersion, current: Int = 1) -> [String] {
    let model = ManagedObjectModel(
      name: "Broken", id: UUID(), versions: [version], currentVersionNumber: current)
    do {
      _ = try Generator().generate(model)
      return []
    } catch {
      return "\(error)".split(separator: "\n").map(String.init)
    }
  }

  @Test func aMissingCurrentVersionIsSaid() {
    #expect(
      problems(ModelVersion(number: 1, entities: []), current: 7)
        == ["the model has no version 7, which is to be its current one"])
  }

  @Test func everyProblemIsSaidAtOnce() {
    let book = EntityDescription(
      name: "Book",
      attributes: [
        AttributeDescription(name: "two words", type: .string),
        AttributeDescription(name: "mood", type: .enumeration("Mood")),
        AttributeDescription(name: "pages", type: .int64, defaultValue: .value(.string("many"))),
      ],
      relationships: [RelationshipDescription(name: "author", destination: "Writer")])
    let found = problems(
      ModelVersion(number: 1, entities: [book, EntityDescription(name: "Novel", className: "Book")]))
    #expect(
      found == [
        "Novel: 'Book' is declared twice in Swift; give another name with 'swiftName', or 'class' for an entity",
        "Book.mood: there is no entity, enum or composite 'Mood'",
        "Book.pages: the value is none of the type",
        "Book.author: there is no entity, enum or composite 'Writer'",
        "Book.two words: 'two words' is no Swift name; give another with 'swiftName', or 'class' for an entity",
      ])
  }

  @Test func aFittingModelHasNoProblems() {
    let note = EntityDescription(
      name: "Note", attributes: [AttributeDescription(name: "text", type: .string)])
    #expect(problems(ModelVersion(number: 1, entities: [note])) == [])
  }
}

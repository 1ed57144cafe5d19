import CDGenerator
import CDModel
import Foundation
import Testing

/// A model that was made in code need not hold together. The generator then says all that is wrong, and gives
/// nothing.
@Suite struct GenerationErrorTests {
  private func problems(
    _ version: ModelVersion, current: Int = 1, options: Generator.Options = .init()
  ) -> [String] {
    let model = ManagedObjectModel(
      name: "Broken", id: UUID(), versions: [version], currentVersionNumber: current)
    do {
      _ = try Generator(options: options).generate(model)
      return []
    } catch {
      return "\(error)".split(separator: "\n").map(String.init)
    }
  }

  @Test func aMissingCurrentVersionIsSaid() {
    #expect(
      problems(ModelVersion(number: 1, entities: []), current: 7)
        == ["the model has no version 7, which is set as its current version"])
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
        "Novel: 'Book' is declared twice in Swift; choose another name with 'swiftName', or 'class' for an entity",
        "Book.mood: there is no entity, enum or composite 'Mood'",
        "Book.pages: the value does not have the type",
        "Book.author: there is no entity, enum or composite 'Writer'",
        "Book.two words: 'two words' is not a valid Swift name; choose another with 'swiftName', or 'class' for an "
          + "entity",
      ])
  }

  private func note(
    _ attributes: [AttributeDescription], unique: [[String]] = [], templates: [FetchTemplate] = []
  ) -> EntityDescription {
    EntityDescription(
      name: "Note", attributes: attributes, fetchTemplates: templates, uniquenessConstraints: unique)
  }

  @Test func reservedNamesAreSaid() {
    let note = note([AttributeDescription(name: "self", type: .string)])
    let mood = EnumDescription(
      name: "Mood", rawType: .string, cases: [.init(name: "allCases", rawValue: .string("a"))])
    let remedy = "; choose another with 'swiftName', or 'class' for an entity"
    #expect(
      problems(
        ModelVersion(number: 1, enums: [mood], entities: [note, EntityDescription(name: "Foundation")])) == [
          "Foundation: generated code needs the name 'Foundation'\(remedy)",
          "Mood.allCases: generated code needs the name 'allCases'\(remedy)",
          "Note.self: generated code needs the name 'self'\(remedy)",
        ])
  }

  @Test func namesThatSnapshotsNeedAreSaid() throws {
    let version = ModelVersion(
      number: 1,
      entities: [
        note([
          AttributeDescription(name: "snapshot", type: .string),
          AttributeDescription(name: "CodingKeys", type: .string),
          AttributeDescription(name: "Snapshot", type: .string),
        ]), EntityDescription(name: "Snapshot"),
      ])
    #expect(problems(version).isEmpty)
    let remedy = "; choose another with 'swiftName', or 'class' for an entity"
    #expect(
      problems(version, options: .init(snapshots: true)) == [
        "Snapshot: generated code needs the name 'Snapshot'\(remedy)",
        "Note.snapshot: generated code needs the name 'snapshot'\(remedy)",
        "Note.CodingKeys: generated code needs the name 'CodingKeys'\(remedy)",
        "Note.Snapshot: generated code needs the name 'Snapshot'\(remedy)",
      ])
  }

  /// The names of the relationships differ, but not those of the methods that change them.
  @Test func methodsThatAreInheritedAreNotDeclaredAgain() {
    func relationship(_ name: String, _ swiftName: String? = nil) -> RelationshipDescription {
      RelationshipDescription(name: name, destination: "Note", isToMany: true, propertyName: swiftName)
    }
    let parent = EntityDescription(name: "Parent", relationships: [relationship("notes")])
    let child = EntityDescription(
      name: "Child", parent: "Parent", relationships: [relationship("others", "Notes")])
    let note = note([AttributeDescription(name: "text", type: .string)])
    #expect(
      problems(ModelVersion(number: 1, entities: [parent, child, note])) == [
        "Child.others: 'addToNotes' is declared twice in Swift; choose another name with 'swiftName', or 'class' for "
          + "an entity"
      ])
  }

  /// In a view of an old object, `AppModel.Version1.Mood` would begin with the property.
  @Test func propertiesOfOldVersionsThatHideTheModelAreSaid() {
    let mood = EnumDescription(
      name: "Mood", rawType: .string, cases: [.init(name: "good", rawValue: .string("g"))])
    let attributes = [AttributeDescription(name: "mood", type: .enumeration("Mood"))]
    func refusal(_ attribute: AttributeDescription) -> String {
      let old = note(attributes + [attribute])
      let model = ManagedObjectModel(
        name: "App", id: UUID(),
        versions: [
          ModelVersion(number: 1, enums: [mood], entities: [old]),
          ModelVersion(number: 2, basedOn: [1], enums: [mood], entities: [note(attributes)]),
        ], currentVersionNumber: 2,
        mappings: [
          MappingRules(
            source: 1, destination: 2, entities: [EntityRule(destination: "Note", isCustom: true)])
        ])
      do {
        _ = try Generator().generate(model)
        return ""
      } catch {
        return "\(error)"
      }
    }
    #expect(
      refusal(AttributeDescription(name: "AppModel", type: .string))
        == "Note.AppModel: generated code needs the name 'AppModel'; choose another with 'swiftName', or 'class' for an "
        + "entity")
    #expect(refusal(AttributeDescription(name: "AppModels", type: .string)) == "")
  }

  /// Within the struct, `Size` is the field.
  @Test func aFieldDoesNotHideItsCompositeInKeyPaths() throws {
    let size = CompositeDescription(
      name: "Size",
      fields: [
        AttributeDescription(name: "Size", type: .double), AttributeDescription(name: "w", type: .double),
      ])
    let note = note([AttributeDescription(name: "size", type: .composite("Size"))])
    let model = ManagedObjectModel(
      name: "App", id: UUID(), versions: [ModelVersion(number: 1, composites: [size], entities: [note])],
      currentVersionNumber: 1)
    let files = try Generator(options: .init(keyPaths: true)).generate(model)
    let text = try #require(files.first).contents
    #expect(text.contains(#"[\___Size.Size, \___Size.w]"#))
    #expect(text.contains("___Size = Size"))
  }

  @Test func unknownPropertiesAreSaid() {
    let note = note([AttributeDescription(name: "text", type: .string)], unique: [["txt"]])
    #expect(problems(ModelVersion(number: 1, entities: [note])) == ["Note: there is no property 'txt'"])
  }

  @Test func typesOutOfPlaceAreSaid() {
    let place = CompositeDescription(
      name: "Place", fields: [AttributeDescription(name: "inner", type: .composite("Place"))])
    let mood = EnumDescription(
      name: "Mood", rawType: .date, cases: [.init(name: "good", rawValue: .string("g"))])
    let found = problems(ModelVersion(number: 1, enums: [mood], composites: [place], entities: []))
    #expect(found.contains("Mood: the type 'Date' is not allowed here"))
    #expect(found.contains("Place.inner: the type 'Place' is not allowed here"))
  }

  @Test func mistakesOfPredicatesAreSaid() throws {
    let template = FetchTemplate(name: "long", predicate: try FetchPredicate(format: "txt == $text"))
    let note = note([AttributeDescription(name: "text", type: .string)], templates: [template])
    #expect(
      problems(ModelVersion(number: 1, entities: [note])) == [
        "Note.long: Note has no 'txt'; did you mean 'text'?"
      ])
  }

  @Test func aFittingModelHasNoProblems() {
    let note = EntityDescription(
      name: "Note", attributes: [AttributeDescription(name: "text", type: .string)])
    #expect(problems(ModelVersion(number: 1, entities: [note])) == [])
  }
}

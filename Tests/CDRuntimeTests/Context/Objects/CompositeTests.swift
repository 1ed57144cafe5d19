import CDRuntime
import Foundation
import Testing

/// Composites at their edges.
@Suite struct CompositeTests {
  private static let model: ManagedObjectModel = {
    let place = CompositeDescription(
      name: "Place",
      fields: ["street", "city"].map { AttributeDescription(name: $0, type: .string, isOptional: true) })
    let note = EntityDescription(
      name: "Note",
      attributes: [AttributeDescription(name: "place", type: .composite("Place"), isOptional: true)])
    return ManagedObjectModel(
      name: "Notes", id: UUID(),
      versions: [ModelVersion(number: 1, composites: [place], entities: [note])], currentVersionNumber: 1)
  }()

  @Test func aCompositeOfNothingIsNil() throws {
    let container = try PersistentContainer(scratchModel: Self.model)
    let context = container.newContext()
    let note = try context.insert(entityNamed: "Note")
    try note.setValue(.attribute(.composite(["street": .null, "city": .null])), forKey: "place")
    // Before the save as after it.
    #expect(try note.value(forKey: "place") == .attribute(.null))
    let none = FetchRequest<ManagedObject>(
      entityName: "Note", where: try FetchPredicate(format: "place == nil"))
    #expect(try context.count(for: none) == 1)
    try context.save()
    let read = container.newContext()
    #expect(try read.existingObject(with: note.objectID).value(forKey: "place") == .attribute(.null))
    #expect(try read.count(for: none) == 1)
    try note.setValue(.attribute(.composite(["city": .string("C")])), forKey: "place")
    try context.save()
    #expect(
      try container.newContext().existingObject(with: note.objectID).value(forKey: "place")
        == .attribute(.composite(["street": .null, "city": .string("C")])))
  }
}

import Foundation
import Testing

@testable import CDRuntime

/// A deletion with the rule `noAction` leaves pairs that are in another store.
@Suite(.onceForAllKinds) struct LeftPairTests {
  private static let model = ManagedObjectModel(
    name: "Tags", id: UUID(uuidString: "3B8B2C55-6D0E-4C0B-9C3B-7A9F1C2D4E61") ?? UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Note", attributes: [AttributeDescription(name: "text", type: .string)],
            relationships: [
              RelationshipDescription(name: "tags", destination: "Tag", isToMany: true, inverse: "notes")
            ]),
          EntityDescription(
            name: "Tag", attributes: [AttributeDescription(name: "name", type: .string)],
            relationships: [
              RelationshipDescription(
                name: "notes", destination: "Note", isToMany: true, inverse: "tags", deleteRule: .noAction)
            ]),
        ],
        configurations: [
          ConfigurationDescription(name: "Notes", entities: ["Note"]),
          ConfigurationDescription(name: "Tags", entities: ["Tag"]),
        ])
    ], currentVersionNumber: 1)

  /// The pairs, in the store of the notes.
  private func pairs(_ coordinator: PersistentStoreCoordinator) throws -> Int {
    try coordinator.storedRows()["Note.tags"]?.count ?? 0
  }

  /// The store has the same pairs when it is opened again, and a batch leaves those that a save leaves.
  @Test(arguments: StoreKind.files, [true, false])
  func theFileHasThePairsThatTheStoreHas(_ kind: StoreKind, isBatch: Bool) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func open() throws -> PersistentStoreCoordinator {
      try PersistentStoreCoordinator(
        model: Self.model,
        stores: [
          PersistentStoreDescription(.sqlite(folder.appending(path: "tags.sqlite")), configuration: "Tags"),
          PersistentStoreDescription(
            kind.location(folder.appending(path: "notes.cdstore")), configuration: "Notes"),
        ])
    }
    let left = try {
      let coordinator = try open()
      let context = ManagedObjectContext(coordinator)
      let tag = try context.insert(entityNamed: "Tag")
      try tag.setValue("pond", forKey: "name")
      let note = try context.insert(entityNamed: "Note")
      try note.setValue("Walden", forKey: "text")
      try note.setValue([tag], forKey: "tags")
      try context.save()
      if isBatch {
        try context.execute(BatchDeleteRequest(FetchRequest<ManagedObject>(entityName: "Tag")))
      } else {
        context.delete(tag)
        try context.save()
      }
      return try pairs(coordinator)
    }()
    #expect(left == 1)
    #expect(try pairs(open()) == left)
  }
}

import Foundation

@testable import CDRuntime

/// One model in two stores: people in one, their notes in the other.
final class DiaryStores {
  let folder: URL
  let people: URL
  let notes: URL
  let kind = StoreKind.ofEnvironment
  private var contexts: [ManagedObjectContext] = []
  /// Where stores in memory have one owner: who asks for both of them gets the one that is there.
  private weak var coordinator: PersistentStoreCoordinator?

  static let model = ManagedObjectModel(
    name: "Diary", id: UUID(uuidString: "5A0C9C0E-6E5C-4E63-9D0F-2D8C8E0B4F21") ?? UUID(),
    versions: [version(1)], currentVersionNumber: 1)

  /// A version with more attributes of a note than the first has.
  static func version(_ number: Int, adding attributes: [AttributeDescription] = []) -> ModelVersion {
    ModelVersion(
      number: number, basedOn: number > 1 ? [number - 1] : [],
      entities: [
        EntityDescription(
          name: "Person", attributes: [AttributeDescription(name: "name", type: .string)],
          relationships: [
            RelationshipDescription(name: "notes", destination: "Note", isToMany: true, inverse: "author"),
            RelationshipDescription(
              name: "marks", destination: "Note", isToMany: true, inverse: "markedBy", isOrdered: true),
          ], uniquenessConstraints: [["name"]]),
        EntityDescription(
          name: "Note",
          attributes: [
            AttributeDescription(name: "text", type: .string),
            AttributeDescription(name: "scan", type: .data, isOptional: true, storesExternally: true),
          ] + attributes,
          relationships: [
            RelationshipDescription(name: "author", destination: "Person", inverse: "notes"),
            RelationshipDescription(
              name: "markedBy", destination: "Person", isToMany: true, inverse: "marks"),
          ]),
        EntityDescription(name: "Draft", attributes: [AttributeDescription(name: "text", type: .string)]),
      ],
      configurations: [
        ConfigurationDescription(name: "People", entities: ["Person"]),
        ConfigurationDescription(name: "Notes", entities: ["Note"]),
        ConfigurationDescription(name: "All", entities: ["Person", "Note", "Draft"]),
      ])
  }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    people = folder.appending(path: "people.sqlite")
    notes = folder.appending(path: "it's notes.sqlite")
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
    for url in [people, notes] { kind.drop(url) }
  }

  var descriptions: [PersistentStoreDescription] {
    [
      PersistentStoreDescription(kind.location(people), configuration: "People"),
      PersistentStoreDescription(kind.location(notes), configuration: "Notes"),
    ]
  }

  func container(_ stores: [PersistentStoreDescription]? = nil) throws -> PersistentContainer {
    if stores == nil, kind != .sqlite, kind != .postgresql, let coordinator {
      return PersistentContainer(coordinator)
    }
    let new = try PersistentStoreCoordinator(model: Self.model, stores: stores ?? descriptions)
    if stores == nil { coordinator = new }
    return PersistentContainer(new)
  }

  /// A context over a coordinator of its own.
  func freshContext(_ stores: [PersistentStoreDescription]? = nil) throws -> ManagedObjectContext {
    let context = try container(stores).newContext()
    contexts.append(context)
    return context
  }

  /// Changes a store behind the runtime's back: its file, the server's tables, those that a coordinator has in memory, or
  /// the rows of an engine without tables.
  /// Foreign keys do not hold.
  func run(_ sql: String, at url: URL) throws {
    if kind == .postgresql { return try TestServer.run([sql], at: url, checksReferences: false) }
    if kind == .plain {
      return try PlainSQL.change(url, "PRAGMA foreign_keys = OFF; " + sql, in: coordinator)
    }
    let place = url == people ? 0 : 1
    let path = kind == .sqlite ? nil : try coordinator?.database.attached.all[place].path
    try SQLiteConnection(path: path ?? url.path(percentEncoded: false), of: [url]).execute(
      "PRAGMA foreign_keys = OFF; " + sql)
  }

  /// Grace, a note of hers with a large value, and a note of nobody's.
  static func fill(_ context: ManagedObjectContext) throws -> (person: ManagedObject, note: ManagedObject) {
    let grace = try context.insert(entityNamed: "Person")
    try grace.setValue("Grace", forKey: "name")
    let note = try context.insert(entityNamed: "Note")
    try note.setValue("Compile it", forKey: "text")
    try note.setValue(grace, forKey: "author")
    try note.setValue(Data(repeating: 1, count: 100_000), forKey: "scan")
    let other = try context.insert(entityNamed: "Note")
    try other.setValue("Nobody's", forKey: "text")
    return (grace, note)
  }

  static func texts(_ format: String, _ context: ManagedObjectContext) throws -> [String] {
    try context.objects(forEntityNamed: "Note", format: format).map { try $0.value(forKey: "text") }
      .compactMap {
        if case .attribute(.string(let text)) = $0 { return text }
        return nil
      }
  }
}

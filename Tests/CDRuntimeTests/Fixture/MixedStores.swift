import Foundation

@testable import CDPostgresStore
@testable import CDRuntime

/// One model in two stores of the same or of different engines.
final class MixedStores {
  /// Where the stores are.
  enum Mix: CaseIterable, Sendable {
    case files, peopleOnServer, notesOnServer

    static let mixed: [Mix] = [.peopleOnServer, .notesOnServer]
  }

  let mix: Mix
  let folder: URL
  private var contexts: [ManagedObjectContext] = []

  static let model = ManagedObjectModel(
    name: "Mixed", id: UUID(uuidString: "8E1B4B0E-7A0E-4C38-A7B5-50D8B2A8C201") ?? UUID(),
    versions: [version(1), version(2)], currentVersionNumber: 1)

  static let newModel = ManagedObjectModel(
    name: model.name, id: model.id, versions: model.versions, currentVersionNumber: 2)

  /// The second version has one more attribute of each entity.
  static func version(_ number: Int) -> ModelVersion {
    let added =
      number == 1
      ? [] : [AttributeDescription(name: "mood", type: .string, isOptional: true)]
    return ModelVersion(
      number: number, basedOn: number > 1 ? [number - 1] : [],
      entities: [
        EntityDescription(
          name: "Person",
          attributes: [
            AttributeDescription(name: "name", type: .string),
            AttributeDescription(name: "age", type: .int64, isOptional: true),
          ] + added,
          relationships: [
            RelationshipDescription(
              name: "notes", destination: "Note", isToMany: true, inverse: "author", deleteRule: .cascade),
            RelationshipDescription(
              name: "marks", destination: "Note", isToMany: true, inverse: "markedBy", isOrdered: true),
            RelationshipDescription(name: "card", destination: "Note", inverse: "holder"),
            RelationshipDescription(name: "favourites", destination: "Note", isToMany: true),
          ], uniquenessConstraints: [["name"]]),
        EntityDescription(
          name: "Note",
          attributes: [
            AttributeDescription(name: "text", type: .string),
            AttributeDescription(name: "stars", type: .int64, isOptional: true),
            AttributeDescription(name: "scan", type: .data, isOptional: true, storesExternally: true),
          ] + added,
          relationships: [
            RelationshipDescription(name: "author", destination: "Person", inverse: "notes"),
            RelationshipDescription(
              name: "markedBy", destination: "Person", isToMany: true, inverse: "marks"),
            RelationshipDescription(name: "holder", destination: "Person", inverse: "card"),
            RelationshipDescription(name: "subject", destination: "Person"),
          ], uniquenessConstraints: [["text"]]),
      ],
      configurations: [
        ConfigurationDescription(name: "People", entities: ["Person"]),
        ConfigurationDescription(name: "Notes", entities: ["Note"]),
      ])
  }

  init(_ mix: Mix) throws {
    self.mix = mix
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    contexts.removeAll()
    try? FileManager.default.removeItem(at: folder)
    if mix != .files { TestServer.drop(serverFile) }
  }

  /// The name of the store on the server, and the file of the other one. FullDisk fails the writes to it.
  var serverFile: URL { folder.appending(path: "server") }
  var file: URL { folder.appending(path: "full.sqlite") }

  /// - Parameter change: Changes the settings of the server.
  func descriptions(_ change: (inout PostgresServer) -> Void = { _ in }) throws
    -> [PersistentStoreDescription]
  {
    func server() throws -> StoreLocation {
      guard case .engine(let location) = TestServer.location(serverFile),
        var server = location.details as? PostgresServer
      else { return .inMemory }
      change(&server)
      return .server(server)
    }
    let (people, notes): (StoreLocation, StoreLocation) =
      switch mix {
      case .files: (.sqlite(file), .sqlite(folder.appending(path: "notes.sqlite")))
      case .peopleOnServer: (try server(), .sqlite(file))
      case .notesOnServer: (.sqlite(file), try server())
      }
    return [
      PersistentStoreDescription(people, configuration: "People"),
      PersistentStoreDescription(notes, configuration: "Notes"),
    ]
  }

  func coordinator(
    _ model: ManagedObjectModel = model, _ change: (inout PostgresServer) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    try PersistentStoreCoordinator(model: model, stores: descriptions(change))
  }

  /// A context over a coordinator of its own.
  func context(_ change: (inout PostgresServer) -> Void = { _ in }) throws -> ManagedObjectContext {
    let context = PersistentContainer(try coordinator(Self.model, change)).newContext()
    contexts.append(context)
    return context
  }

  // MARK: Contents

  static func add(_ entity: String, _ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    let object = try context.insert(entityNamed: entity)
    try object.setValue(name, forKey: entity == "Person" ? "name" : "text")
    return object
  }

  static func name(_ object: ManagedObject) throws -> String {
    let key = object.objectID.entityName == "Person" ? "name" : "text"
    guard case .attribute(.string(let text)) = try object.value(forKey: key) else { return "?" }
    return text
  }

  /// All objects with their values and relationships, as lines.
  static func contents(_ context: ManagedObjectContext) throws -> [String] {
    try context.perform {
      var lines: [String] = []
      for entity in ["Person", "Note"] {
        let keys =
          entity == "Person"
          ? ["age", "notes", "marks", "card", "favourites"]
          : ["stars", "scan", "author", "markedBy", "holder", "subject"]
        for object in try context.objects(forEntityNamed: entity, format: "TRUEPREDICATE") {
          var line = try "\(entity) \(name(object))"
          for key in keys {
            switch try object.value(forKey: key) {
            case .attribute(.data(let data)): line += " \(key): \(data.count) bytes"
            case .attribute(let value): line += " \(key): \(value)"
            case .object(let other): line += try " \(key): \(other.map(name) ?? "nil")"
            case .objects(let others):
              let names = try others.map(name)
              line += " \(key): \(key == "marks" ? names : names.sorted())"
            }
          }
          lines.append(line)
        }
      }
      return lines.sorted()
    }
  }

  static func names(
    _ entity: String, _ format: String, _ context: ManagedObjectContext, sortedBy keyPath: String? = nil
  ) throws -> [String] {
    var request = FetchRequest<ManagedObject>(
      entityName: entity, where: try FetchPredicate(format: format))
    if let keyPath { request.sortKeys = [SortKey(keyPath)] }
    let names = try context.fetch(request).map(name)
    return keyPath == nil ? names.sorted() : names
  }
}

import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation

/// A program that holds a store open, and meanwhile calls whatever else takes the same file: `.ci/attack/processes`
/// looks at the locks that the process has after each call, and at what becomes of its saves.
///
///     hold-store MODEL VERSION STORE
///
/// MODEL is a compiled model. Each line of standard input is a request, and is answered with a line that begins with
/// `ok`, or with `error` and the reason.
@main
struct StoreHolder {
  let url: URL
  let model: ManagedObjectModel
  var container: PersistentContainer?
  var second: PersistentContainer?

  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let version = Int(arguments[2]) else {
      throw UsageError(description: "usage: hold-store MODEL VERSION STORE")
    }
    var model = try ManagedObjectModel(contentsOf: URL(filePath: arguments[1]))
    model.currentVersionNumber = version
    var holder = StoreHolder(url: URL(filePath: arguments[3]), model: model)
    while let line = readLine() {
      let answer: String
      do {
        answer = "ok \(try holder.answer(line.split(separator: " ").map(String.init)))"
      } catch {
        answer = "error \(error)".replacingOccurrences(of: "\n", with: " ")
      }
      FileHandle.standardOutput.write(Data((answer + "\n").utf8))
    }
  }

  struct UsageError: Error, CustomStringConvertible {
    let description: String
  }

  private mutating func answer(_ request: [String]) throws -> String {
    switch request.first {
    case "open": container = try open(isReadOnly: false)
    case "close":
      second = nil
      container = nil
    case "save":
      guard request.count == 3, let count = Int(request[2]) else { break }
      try save(request[1], count)
    case "count": return "\(try count())"
    case "open-again": second = try open(isReadOnly: false)
    case "open-again-to-read": second = try open(isReadOnly: true)
    case "close-again": second = nil
    case "open-and-close": _ = try open(isReadOnly: false)
    case "read-and-close": _ = try open(isReadOnly: true)
    case "metadata": return try PersistentStoreCoordinator.metadata(forStoreAt: url).storeID.uuidString
    case "recognize": _ = try StoreLocation(recognizing: url)
    case "is-core-data": return "\(CoreDataStore.isStore(at: url))"
    case "verify":
      return "\(try container?.persistentStoreCoordinator.verify().count ?? 0) findings"
    case "rehearse":
      return "\(try MigrationRehearsal(description(isReadOnly: false), model: model).run().succeeds)"
    case "copy":
      guard request.count == 3 else { break }
      let target = URL(filePath: request[2])
      try PersistentStoreCoordinator.copyPersistentStore(
        at: url, to: request[1] == "xml" ? .xml(target) : .sqlite(target))
    case "destroy": try PersistentStoreCoordinator.destroyPersistentStore(at: url)
    case "open-at":
      // The same file by another name: a symbolic or a hard link.
      guard request.count == 2 else { break }
      _ = try PersistentContainer(model: model, at: URL(filePath: request[1]))
    case "metadata-at":
      guard request.count == 2 else { break }
      return try PersistentStoreCoordinator.metadata(forStoreAt: URL(filePath: request[1])).storeID.uuidString
    case "open-as-xml":
      // A caller that mistakes the kind of the file gets an error, and the locks must survive that too.
      _ = try PersistentStoreCoordinator(model: model, at: .xml(url))
    default: throw UsageError(description: "unknown request")
    }
    return ""
  }

  private func description(isReadOnly: Bool) throws -> PersistentStoreDescription {
    var description = PersistentStoreDescription(
      try StoreLocation(recognizing: url), isReadOnly: isReadOnly)
    description.migratesStoreAutomatically = false
    return description
  }

  private func open(isReadOnly: Bool) throws -> PersistentContainer {
    PersistentContainer(
      try PersistentStoreCoordinator(model: model, stores: [description(isReadOnly: isReadOnly)]))
  }

  /// Saves a folder with notes.
  private func save(_ name: String, _ count: Int) throws {
    guard let container else { throw UsageError(description: "the store is not open") }
    let context = container.newContext()
    try context.perform {
      let folder = try context.insert(entityNamed: "Folder")
      try folder.setValue(name, forKey: "name")
      for number in 0..<count {
        let note = try context.insert(entityNamed: "Note")
        try note.setValue("\(name)/\(number)", forKey: "text")
        try note.setValue(folder, forKey: "folder")
      }
      try context.save()
    }
  }

  private func count() throws -> Int {
    guard let container else { throw UsageError(description: "the store is not open") }
    let context = container.newContext()
    return try context.perform {
      try context.count(for: FetchRequest<ManagedObject>(entityName: "Note"))
    }
  }
}

import CDRuntime
import Foundation
import Testing

/// Derived attributes, and fetches with unsaved changes, read what other contexts have saved meanwhile.
@Suite struct DerivedOfOthersTests {
  private let container: PersistentContainer
  private let first: ManagedObjectContext
  private let other: ManagedObjectContext

  private static func derived(_ name: String, _ type: AttributeType, _ text: String) throws
    -> AttributeDescription
  {
    AttributeDescription(
      name: name, type: type, isOptional: true, derivation: try ValueExpression(format: text))
  }

  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Folder",
        attributes: [
          AttributeDescription(name: "name", type: .string),
          try Self.derived("count", .int64, "files.@count"),
          try Self.derived("size", .int64, "files.@sum.size"),
        ],
        relationships: [
          RelationshipDescription(name: "files", destination: "File", isToMany: true, inverse: "folder")
        ]),
      EntityDescription(
        name: "File",
        attributes: [
          AttributeDescription(name: "size", type: .int64),
          try Self.derived("folderName", .string, "folder.name"),
        ],
        relationships: [RelationshipDescription(name: "folder", destination: "Folder", inverse: "files")]),
    ])
    first = container.newContext()
    other = container.newContext()
    other.mergePolicy = .mergeByPropertyObjectTrump
  }

  private func folder(_ name: String) throws -> ManagedObject {
    let folder = try first.insert(entityNamed: "Folder")
    try folder.setValue(name, forKey: "name")
    return folder
  }

  @discardableResult
  private func file(_ size: Int, in folder: ManagedObject, _ context: ManagedObjectContext) throws
    -> ManagedObject
  {
    let file = try context.insert(entityNamed: "File")
    try file.setValue(size, forKey: "size")
    try file.setValue(folder, forKey: "folder")
    return file
  }

  private func stored(_ object: ManagedObject, _ key: String) throws -> AttributeValue? {
    let context = container.newContext()
    return try context.existingObject(with: object.objectID).value(forKey: key).attribute
  }

  private func request(_ format: String) throws -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: "File", where: try FetchPredicate(format: format))
  }

  enum Order: CaseIterable { case beforeTheChange, beforeTheSave, inABlock }

  @Test(arguments: Order.allCases) func anInsertionReadsTheNewName(_ order: Order) throws {
    let folder = try folder("old")
    try first.save()
    let same = try other.existingObject(with: folder.objectID)
    #expect(try same.value(forKey: "name") == .attribute(.string("old")))
    func rename() throws {
      try folder.setValue("new", forKey: "name")
      try first.save()
    }
    let added: ManagedObject
    switch order {
    case .beforeTheChange:
      try rename()
      added = try file(1, in: same, other)
      try other.save()
    case .beforeTheSave:
      added = try file(1, in: same, other)
      try rename()
      try other.save()
    case .inABlock:
      added = try other.perform {
        _ = try same.value(forKey: "name")
        let added = try file(1, in: same, other)
        try rename()
        try other.save()
        return added
      }
    }
    #expect(try stored(added, "folderName") == .string("new"))
  }

  /// The folder has another file when the conflict has been resolved.
  @Test(arguments: [false, true]) func aResolvedConflictReadsTheNewFiles(isInBlock: Bool) throws {
    let (from, to) = (try folder("from"), try folder("to"))
    let files = try (0..<2).map { try file(10 + $0, in: from, first) }
    try first.save()
    let theirs = try files.map { try other.existingObject(with: $0.objectID) }
    let target = try other.existingObject(with: to.objectID)
    func change() throws {
      #expect(try target.value(forKey: "count") == .attribute(.int(0)))
      try theirs[0].setValue(target, forKey: "folder")
      try files[1].setValue(to, forKey: "folder")
      try files[0].setValue(100, forKey: "size")
      try first.save()
      try other.save()
    }
    if isInBlock { try other.perform { try change() } } else { try change() }
    #expect(try stored(to, "count") == .int(2) && stored(from, "count") == .int(0))
    #expect(try stored(to, "size") == .int(111) && stored(from, "size") == .int(0))
  }

  @Test(arguments: [false, true]) func aChangedObjectMatchesWhatOthersHaveSaved(isInBlock: Bool) throws {
    let folder = try folder("0")
    for size in 0..<4 { try file(size, in: folder, first) }
    try first.save()
    let file = try #require(try other.fetch(request("size == 2")).first)
    #expect(try other.existingObject(with: folder.objectID).value(forKey: "name") == .attribute(.string("0")))
    try file.setValue(5, forKey: "size")
    var number = 0
    func name() throws -> String {
      number += 1
      try folder.setValue("\(number)", forKey: "name")
      try first.save()
      return "'\(number)'"
    }
    func found(_ format: String) throws -> [Int] {
      let name = try name()
      func count(_ body: (FetchRequest<ManagedObject>) throws -> Int) throws -> Int {
        let matching = try request("\(format) == \(name)")
        return isInBlock ? try other.perform { try body(matching) } : try body(matching)
      }
      return try [
        count { try other.count(for: $0) }, count { try other.fetch($0).count },
        count { try other.objectIDs(for: $0).count },
      ]
    }
    #expect(try found("folder.name") == [4, 4, 4])
    #expect(try found("folderName") == [4, 4, 4])
    // The name changes before each of them, too.
    for format in ["folder.name", "folderName"] {
      let matching = try request("\(format) == \(name())")
      #expect(try other.count(for: matching) == 4)
    }
    let child = ManagedObjectContext(parent: other)
    try child.existingObject(with: file.objectID).setValue(6, forKey: "size")
    let matching = try request("folder.name == \(name())")
    #expect(try child.count(for: matching) == 4)
  }
}

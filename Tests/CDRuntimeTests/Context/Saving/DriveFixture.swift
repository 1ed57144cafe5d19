import CDRuntime
import Testing

/// A drive with a folder, in which attributes are derived along several relationships, and two contexts.
class DriveFixture {
  let container: PersistentContainer
  let context: ManagedObjectContext
  let other: ManagedObjectContext
  let folder: ManagedObjectID

  convenience init() throws { try self.init(isOrdered: false) }

  /// - Parameter isOrdered: Whether a folder's files and labels have an order.
  init(isOrdered: Bool) throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Drive",
        attributes: [
          AttributeDescription(name: "name", type: .string),
          try .derived("fileCount", .int64, "folders.@sum.count"),
        ],
        relationships: [
          RelationshipDescription(name: "folders", destination: "Folder", isToMany: true, inverse: "drive")
        ]),
      EntityDescription(
        name: "Folder",
        attributes: [
          AttributeDescription(name: "name", type: .string),
          try .derived("count", .int64, "files.@count"),
          try .derived("size", .int64, "files.@sum.size"),
          try .derived("labelCount", .int64, "labels.@count"),
          try .derived("coverSize", .int64, "cover.size"),
          try .derived("parentName", .string, "parent.name"),
        ],
        relationships: [
          RelationshipDescription(name: "drive", destination: "Drive", inverse: "folders"),
          RelationshipDescription(
            name: "files", destination: "File", isToMany: true, inverse: "folder", deleteRule: .cascade,
            isOrdered: isOrdered),
          RelationshipDescription(
            name: "labels", destination: "Label", isToMany: true, inverse: "folders", isOrdered: isOrdered),
          RelationshipDescription(name: "cover", destination: "File"),
          RelationshipDescription(name: "parent", destination: "Folder", inverse: "children"),
          RelationshipDescription(name: "children", destination: "Folder", isToMany: true, inverse: "parent"),
        ]),
      EntityDescription(
        name: "File",
        attributes: [
          AttributeDescription(name: "size", type: .int64),
          try .derived("folderName", .string, "folder.name"),
          try .derived("driveName", .string, "folder.drive.name"),
        ],
        relationships: [RelationshipDescription(name: "folder", destination: "Folder", inverse: "files")]),
      EntityDescription(
        name: "Label",
        attributes: [
          AttributeDescription(name: "name", type: .string),
          try .derived("fileCount", .int64, "folders.@sum.count"),
        ],
        relationships: [
          RelationshipDescription(name: "folders", destination: "Folder", isToMany: true, inverse: "labels")
        ]),
    ])
    context = container.newContext()
    other = container.newContext()
    let first = container.newContext()
    let (drive, folder) = (try first.insert(entityNamed: "Drive"), try first.insert(entityNamed: "Folder"))
    try drive.setValue("disk", forKey: "name")
    try folder.setValue("old", forKey: "name")
    try folder.setValue(drive, forKey: "drive")
    try first.save()
    self.folder = folder.objectID
  }

  static func text(_ object: ManagedObject, _ key: String) throws -> String? {
    guard case .attribute(.string(let text)) = try object.value(forKey: key) else { return nil }
    return text
  }

  static func number(_ object: ManagedObject, _ key: String) throws -> Int64? {
    guard case .attribute(.int(let number)) = try object.value(forKey: key) else { return nil }
    return number
  }

  static func folder(_ context: ManagedObjectContext, _ id: ManagedObjectID) throws -> ManagedObject {
    try context.existingObject(with: id)
  }

  func stored(_ id: ManagedObjectID) throws -> ManagedObject {
    try container.newContext().existingObject(with: id)
  }

  @discardableResult
  static func addFile(
    _ size: Int, to folder: ManagedObject, in context: ManagedObjectContext
  ) throws -> ManagedObject {
    let file = try context.insert(entityNamed: "File")
    try file.setValue(size, forKey: "size")
    try file.setValue(folder, forKey: "folder")
    return file
  }

  func rename(_ folder: ManagedObjectID, _ name: String = "new") throws {
    let context = container.newContext()
    try Self.folder(context, folder).setValue(name, forKey: "name")
    try context.save()
  }
}

import CDModel
import Foundation
import Testing

@testable import CDRuntime

/// A store of albums with large values, and its contexts.
final class AlbumStore {
  let kind: StoreKind
  let coordinator: PersistentStoreCoordinator
  private var contexts: [ManagedObjectContext] = []

  /// - Parameter isTyped: Whether the objects have generated classes.
  init(_ kind: StoreKind, isTyped: Bool = false) throws {
    self.kind = kind
    let location = ScratchStore(kind).location
    coordinator =
      isTyped
      ? try PersistentStoreCoordinator(for: AlbumsModel.self, at: location)
      : try PersistentStoreCoordinator(model: AlbumsModel.model, at: location)
  }

  func context() -> ManagedObjectContext {
    let context = ManagedObjectContext(coordinator)
    contexts.append(context)
    return context
  }

  /// A value that no engine has in the row of a fetch.
  static func large(_ byte: UInt8) -> Data { Data(repeating: byte, count: 100_000) }

  /// Saves photos with the titles `0`, `1` and so on. Each has large values, which contain its number.
  @discardableResult func fill(_ count: Int, entity: String = "Photo") throws -> [ManagedObjectID] {
    let context = context()
    let photos = try (0..<count).map { number in
      let photo = try context.insert(entityNamed: entity)
      try photo.setValue("\(number)", forKey: "title")
      try photo.setValue(Self.large(UInt8(number)), forKey: "pixels")
      try photo.setValue(Self.large(UInt8(100 + number)), forKey: "preview")
      if entity == "Portrait" { try photo.setValue(Self.large(UInt8(200 + number)), forKey: "face") }
      return photo
    }
    try context.save()
    return photos.map(\.objectID)
  }
}

extension StoreKind {
  /// Whether rows of objects leave large values out.
  var leavesLargeValuesOut: Bool { self == .plain || self == .postgresql }
}

extension ManagedObjectContext {
  /// The photos, in the order of their titles, from rows that are read now.
  func photos(_ entity: String = "Photo") throws -> [ManagedObject] {
    let found = try fetch(FetchRequest<ManagedObject>(entityName: entity))
    return try found.map { (try $0.photoTitle, $0) }.sorted { $0.0 < $1.0 }.map(\.1)
  }
}

extension ManagedObject {
  func largeData(_ key: String) throws -> Data? {
    if case .attribute(.data(let data)) = try value(forKey: key) { return data }
    return nil
  }

  var photoTitle: String {
    get throws {
      if case .attribute(.string(let text)) = try value(forKey: "title") { return text }
      return "?"
    }
  }

  /// Whether the object has read a large value; always true if the rows of the engine have all values.
  func hasRead(_ key: String) -> Bool {
    scope.plan.slot(key).map { !isUnread($0.number) } ?? false
  }
}

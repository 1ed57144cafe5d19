import CDRuntime
import Foundation

/// A store of whose file a test knows nothing: in memory, or of the kind that the environment asks for.
struct ScratchStore {
  /// Files, which go when the tests end: objects may use them as long as they live.
  private static let folder: URL = {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-scratch-\(UUID().uuidString)")
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch { fatalError("no folder for stores: \(error)") }
    atexit { try? FileManager.default.removeItem(at: ScratchStore.folder) }
    return folder
  }()

  let kind: StoreKind
  let location: StoreLocation

  init(_ kind: StoreKind = .ofScratch) {
    self.kind = kind
    if kind.isInMemory {
      location = kind.location(Self.folder)
      return
    }
    let url = Self.folder.appending(path: "\(UUID().uuidString).cdstore")
    // A store in the memory of the process goes with whoever can open it.
    location =
      kind == .plain
      ? PlainEngine.location(url, lifetime: PlainLifetime(PlainStores.address(url))) : kind.location(url)
  }
}

extension PersistentContainer {
  /// Opens a store of whose file the test knows nothing.
  convenience init(scratchModel model: ManagedObjectModel, _ store: ScratchStore = ScratchStore()) throws {
    self.init(try PersistentStoreCoordinator(model: model, at: store.location))
  }

  /// Opens a store of whose file the test knows nothing.
  convenience init(
    scratchFor model: any GeneratedModel.Type, _ store: ScratchStore = ScratchStore()
  ) throws {
    self.init(try PersistentStoreCoordinator(for: model, at: store.location))
  }

  /// Opens a store of entities of a test's own.
  convenience init(
    scratchOf entities: [EntityDescription], composites: [CompositeDescription] = [],
    _ store: ScratchStore = ScratchStore()
  ) throws {
    let version = ModelVersion(number: 1, composites: composites, entities: entities)
    try self.init(
      scratchModel: ManagedObjectModel(name: "Own", id: UUID(), versions: [version], currentVersionNumber: 1),
      store)
  }
}

extension AttributeDescription {
  /// An optional attribute that is derived by an expression.
  static func derived(_ name: String, _ type: AttributeType, _ text: String) throws -> AttributeDescription {
    AttributeDescription(
      name: name, type: type, isOptional: true, derivation: try ValueExpression(format: text))
  }
}

import CDConsole
import CDCoreDataStore
import CDModel
import CDRuntime
import CDSchema
import Foundation

/// Loads the model of a command.
enum ModelSource {
  /// Loads a model from a folder of YAML or from a compiled JSON file.
  static func load(_ path: String, version: Int? = nil) throws -> ManagedObjectModel {
    var model = try load(path)
    if let version {
      guard model.versions.contains(where: { $0.number == version }) else {
        throw Failure(path, unknownVersion: version, of: model)
      }
      model.currentVersionNumber = version
    }
    return model
  }

  private static func load(_ path: String) throws -> ManagedObjectModel {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw Failure("there is no model at \(path)")
    }
    guard isFolder.boolValue else {
      do {
        return try ManagedObjectModel(contentsOf: FileSystem.url(path))
      } catch {
        throw Failure("\(path) is not a compiled model: \(error)")
      }
    }
    let loaded = ModelLoader.load(folder: path)
    guard let model = loaded.model else {
      let errors = loaded.diagnostics.filter { $0.severity == .error }
      throw Failure("the model has mistakes:\n" + errors.map(\.description).joined(separator: "\n"))
    }
    return model
  }

  /// Opens an existing store with the given model, or with the model in the store.
  ///
  /// A store of another version is refused. Only `cdstore migrate` migrates, because a command that then fails would leave
  /// a store that the app can no longer open.
  ///
  /// - Parameter version: The version of a Core Data store; nil to find it automatically.
  static func open(
    _ store: String, model: String? = nil, version: Int? = nil, isReadOnly: Bool = false
  ) throws -> PersistentContainer {
    let name = StoreName(store)
    try name.requireStore()
    if let url = name.file, name.isCoreData {
      return try openCoreDataStore(url, model: model, version: version, isReadOnly: isReadOnly)
    }
    if let model, CoreDataModel.isXcodes(model) { try CoreDataModel.refuseOther(store) }
    let carried = try name.metadata()
    let model = try model.map { try load($0, version: nil) } ?? carried.managedObjectModel
    var description = PersistentStoreDescription(try name.location(), isReadOnly: isReadOnly)
    description.migratesStoreAutomatically = false
    do {
      return try open(description, model)
    } catch let error as StoreError {
      guard case .needsMigration = error else { throw error }
      throw Failure("\(error); run 'cdstore migrate' first")
    }
  }

  /// Opens a store. If it does not contain all of the model's entities, the matching configuration is used.
  private static func open(
    _ description: PersistentStoreDescription, _ model: ManagedObjectModel
  ) throws -> PersistentContainer {
    do {
      return PersistentContainer(try PersistentStoreCoordinator(model: model, stores: [description]))
    } catch StoreError.otherConfiguration(_, _, let configuration?, _) {
      var description = description
      description.configuration = configuration
      return PersistentContainer(try PersistentStoreCoordinator(model: model, stores: [description]))
    }
  }

  /// Opens a Core Data store read-only.
  private static func openCoreDataStore(
    _ url: URL, model: String?, version: Int?, isReadOnly: Bool
  ) throws -> PersistentContainer {
    guard isReadOnly else {
      throw Failure(
        "\(url.relativePath) is a store of Core Data, which is never written to; convert it with 'cdstore convert'"
      )
    }
    guard let model else {
      throw Failure(
        "\(url.relativePath) is a store of Core Data, which does not carry its model; name it with --model, or make a "
          + "store of cdgen with 'cdstore convert'")
    }
    let found = try CoreDataStore(at: url).managedObjectModel(in: CoreDataModel.load(model), version: version)
    let format = CoreDataStoreFormat(model: found, version: found.currentVersionNumber, acceptsLosses: true)
    let container = try open(PersistentStoreDescription(.custom(url, format)), found)
    let losses = format.losses
    if losses.count > 0 {
      let title = losses.count == 1 ? "1 value is" : "\(losses.count) values are"
      Lines.error("warning: \(title) left out:\n\(losses)")
    }
    return container
  }
}

import CDConsole
import CDCoreDataStore
import CDModel
import CDRuntime
import CDSchema
import CDXcode
import Foundation

/// Loads the model of a Core Data store.
enum CoreDataModel {
  /// Loads an Xcode model, or a model that was imported from one.
  static func load(_ path: String) throws -> ManagedObjectModel {
    guard isXcodes(path) else { return try ModelSource.load(path, version: nil) }
    let result: XcodeImport
    do {
      let bundle = try XcodeBundle(contentsOf: path)
      // A store has only one version, and the order of the versions does not matter, so any order can be used.
      let order = bundle.tellsOrder ? nil : bundle.versions.map(\.name).joined(separator: "\n")
      result = XcodeImporter(bundle, order: order, orderPath: path).run(id: UUID())
    } catch { throw Failure("\(error)") }
    guard let model = result.model else {
      let errors = result.diagnostics.filter { $0.severity == .error }
      throw Failure(
        errors.map(\.description).joined(separator: "\n")
          + "\nmake a model of it with 'cdgen import', and name that with --model")
    }
    return model
  }

  /// Refuses a Core Data store where a store of cdgen is needed. The message contains the remedy.
  static func refuse(_ store: String) throws {
    guard StoreName(store).isCoreData else { return }
    throw Failure("\(store) is a store of Core Data; convert it with 'cdstore convert'")
  }

  /// Refuses a file that is not a Core Data store, although the options are for one. The message says what the file is,
  /// or what is wrong with it.
  static func refuseOther(_ store: String, options: String = "--model is") throws -> Never {
    guard let url = StoreName(store).file else {
      throw Failure("a store on a server carries its model; \(options) for stores of Core Data")
    }
    guard (try? PersistentStoreCoordinator.metadata(forStoreAt: url)) == nil else {
      throw Failure(
        "\(store) is a store of cdgen's, which carries its model; \(options) for stores of Core Data")
    }
    _ = try CoreDataStore(at: url)
    throw Failure("\(store) is not a store of Core Data")
  }

  static func isXcodes(_ path: String) -> Bool {
    let name = FileSystem.url(path).pathExtension
    return name == "xcdatamodeld" || name == "xcdatamodel"
  }

  /// The version's number, with its name in Xcode.
  static func title(_ version: ModelVersion) -> String {
    "\(version.number)\(version.label.map { " ('\($0)')" } ?? "")"
  }
}

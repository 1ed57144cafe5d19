import CDCoreDataStore
import CDModel
import CDSchema
import CDXcode
import Foundation

/// The model of a store of Core Data.
enum CoreDataModel {
  /// Xcode's own, or that which was made of it.
  static func load(_ path: String) throws -> ManagedObjectModel {
    guard isXcodes(path) else { return try ModelSource.load(path, version: nil) }
    let result: XcodeImport
    do {
      let bundle = try XcodeBundle(contentsOf: path)
      // A store is of one version, whichever came before it: any order will do.
      let order = bundle.tellsOrder ? nil : bundle.versions.map(\.name).joined(separator: "\n")
      result = XcodeImporter(bundle, order: order, orderPath: path).run(id: UUID())
    } catch { throw Problem("\(error)") }
    guard let model = result.model else {
      let errors = result.diagnostics.filter { $0.severity == .error }
      throw Problem(
        errors.map(\.description).joined(separator: "\n")
          + "\nmake a model of it with 'cdgen import', and name that with --model")
    }
    return model
  }

  /// Refuses a store of Core Data where one of cdgen is needed, with what to do about it.
  static func refuse(_ store: String) throws {
    guard CoreDataStore.isStore(at: URL(filePath: store)) else { return }
    throw Problem("\(store) is a store of Core Data; 'cdstore convert' makes one of cdgen of it")
  }

  static func isXcodes(_ path: String) -> Bool {
    let name = URL(filePath: path).pathExtension
    return name == "xcdatamodeld" || name == "xcdatamodel"
  }

  /// The number, and the name that the version has in Xcode.
  static func title(_ version: ModelVersion) -> String {
    "\(version.number)\(version.label.map { " ('\($0)')" } ?? "")"
  }
}

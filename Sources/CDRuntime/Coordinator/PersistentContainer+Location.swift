#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PersistentContainer {
  /// Where stores of an app are by default: a folder of the app's name in Application Support on Apple systems, in
  /// `$XDG_DATA_HOME` (or `~/.local/share`) elsewhere.
  ///
  /// - Parameter name: The app's name; the program's by default.
  public static func defaultDirectoryURL(forApp name: String? = nil) -> URL {
    let program = CommandLine.arguments.first.map { URL(filePath: $0).lastPathComponent } ?? ""
    let name = name ?? (program.isEmpty ? "cdgen" : program)
    #if canImport(Darwin)
      return URL.applicationSupportDirectory.appending(path: name)
    #else
      // The standard asks for an absolute path, and for others to be ignored.
      let environment = ProcessInfo.processInfo.environment
      let data =
        environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil }
        ?? URL.homeDirectory.appending(path: ".local/share")
      return data.appending(path: name)
    #endif
  }

  /// Opens the store of a model where the platform keeps an app's data: `NAME.sqlite`, with the model's name, in
  /// ``defaultDirectoryURL(forApp:)``. The folder is made if it is not there.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(for model: any GeneratedModel.Type, app: String? = nil) throws {
    try self.init(for: model, at: Self.storeURL(of: model, app: app))
  }

  /// Where the store of a model is by default, in a folder that is made if it is not there.
  static func storeURL(of model: any ModelDeclaration.Type, app: String?) throws -> URL {
    let folder = Self.defaultDirectoryURL(forApp: app)
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw StoreError.cannotCreate(folder, reason: "\(error)")
    }
    return folder.appending(path: model.model.name + ".sqlite")
  }
}

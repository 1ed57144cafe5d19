#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension ModelLoader {
  /// Loads a model from its folder. Unreadable files are reported in the same way as mistakes in files.
  ///
  /// - Parameter folder: The path of a `NAME.cdmodel` folder. Messages show it as given.
  public static func load(folder: String) -> LoadedModel {
    let diagnostics = DiagnosticCollector()
    var path = folder
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    let place = SourceLocation(path: path, line: 1, column: 1)
    let manager = FileManager.default
    var isDirectory = false
    guard exists(path, isDirectory: &isDirectory), isDirectory else {
      let problem =
        isDirectory || !manager.fileExists(atPath: path) ? "there is no such folder" : "this is a file"
      diagnostics.error(place, "\(problem); a model is a folder named NAME.cdmodel")
      return LoadedModel(
        model: nil, diagnostics: diagnostics.sorted, files: [], positions: ElementPositions())
    }
    let folderName = path.split(separator: "/").last.map(String.init) ?? path
    guard folderName.hasSuffix(".cdmodel") else {
      diagnostics.error(place, "a model is a folder named NAME.cdmodel, and this is '\(folderName)'")
      return LoadedModel(
        model: nil, diagnostics: diagnostics.sorted, files: [], positions: ElementPositions())
    }
    var files: [String: [UInt8]] = [:]
    var unreadable: [String] = []
    do {
      for name in try manager.contentsOfDirectory(atPath: path) {
        guard let kind = ModelFile.Kind(fileName: name) else {
          files[name] = []
          continue
        }
        if kind == .other { continue }
        if let bytes = read(path + "/" + name, diagnostics) {
          files[name] = bytes
        } else {
          unreadable.append(name)
        }
      }
    } catch {
      diagnostics.error(place, "the folder cannot be read: \(reason(error))")
    }
    return load(
      name: String(folderName.dropLast(".cdmodel".count)), files: files, unreadable: unreadable,
      folder: path, diagnostics: diagnostics)
  }

  /// The URL of a path. A URL expands a `~` at the beginning of its path, and `FileManager` does not.
  package static func url(_ path: String) -> URL {
    URL(filePath: path.hasPrefix("~") ? "./" + path : path)
  }

  private static func exists(_ path: String, isDirectory: inout Bool) -> Bool {
    #if canImport(FoundationEssentials) || !canImport(ObjectiveC)
      return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
    #else
      var flag: ObjCBool = false
      defer { isDirectory = flag.boolValue }
      return FileManager.default.fileExists(atPath: path, isDirectory: &flag)
    #endif
  }

  /// Reads a file's bytes. Reports a file that is not a regular file, is too large or cannot be read.
  private static func read(_ path: String, _ diagnostics: DiagnosticCollector) -> [UInt8]? {
    let place = SourceLocation(path: path, line: 1, column: 1)
    let target = url(path).resolvingSymlinksInPath().path
    do {
      let attributes = try FileManager.default.attributesOfItem(atPath: target)
      guard let type = attributes[.type] as? FileAttributeType, type == .typeRegular else {
        let isLink = attributes[.type] as? FileAttributeType == .typeSymbolicLink
        diagnostics.error(
          place, isLink ? "the link leads to a file that does not exist" : "this is not a regular file")
        return nil
      }
      // A file beyond the size limit is not read at all.
      if let size = attributes[.size] as? UInt64, size > UInt64(YAMLLimits.fileSize) {
        diagnostics.error(
          place, "the file has \(size) bytes; a model's file may have \(YAMLLimits.fileSize) at most")
        return nil
      }
      return [UInt8](try Data(contentsOf: url(target)))
    } catch {
      diagnostics.error(place, "the file cannot be read: \(reason(error))")
      return nil
    }
  }

  /// The system's reason in a few words. It leaves out paths, because the message's position already shows the path.
  private static func reason(_ error: any Error) -> String {
    guard let error = error as? CocoaError else { return String(describing: error) }
    switch error.code {
    case .fileReadNoPermission: return "no permission"
    case .fileReadNoSuchFile, .fileNoSuchFile: return "there is no such file"
    case .fileReadTooLarge: return "too large"
    default: return "input or output failed (\(error.code.rawValue))"
    }
  }
}

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The few questions that commands have for the disk.
enum FileSystem {
  static func exists(_ path: String, isDirectory: inout Bool) -> Bool {
    #if canImport(FoundationEssentials)
      return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
    #else
      var flag: ObjCBool = false
      defer { isDirectory = flag.boolValue }
      return FileManager.default.fileExists(atPath: path, isDirectory: &flag)
    #endif
  }

  static func isFolder(_ path: String) -> Bool {
    var isDirectory = false
    return exists(path, isDirectory: &isDirectory) && isDirectory
  }

  /// The folder that a path's file is in; `.` for a bare name.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  static func join(_ folder: String, _ name: String) -> String {
    folder.isEmpty || folder == "." ? name : folder.hasSuffix("/") ? folder + name : folder + "/" + name
  }

  /// Makes a folder and those around it, where they are missing.
  static func makeFolder(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw Failure(path, "cannot be made", error)
    }
  }

  /// Makes a folder that is not there yet. Of two commands that run at once, one fails.
  static func makeNewFolder(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    } catch {
      throw Failure(path, "cannot be made", error)
    }
  }

  /// The names in a folder, sorted; none where there is no folder.
  static func names(in folder: String) throws -> [String] {
    guard isFolder(folder) else { return [] }
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    } catch {
      throw Failure(folder, "cannot be read", error)
    }
  }

  static func remove(_ path: String) throws {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw Failure(path, "cannot be removed", error)
    }
  }
}

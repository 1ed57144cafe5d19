#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// File operations of the programs, whose errors are failures with a path.
package enum FileSystem {
  /// The URL of a path.
  ///
  /// A URL expands a `~` at the beginning of its path, and `FileManager` does not. Without this function, a command would
  /// look for one file and write another. Where a user means the home folder, the shell has expanded the `~` already.
  package static func url(_ path: String, directoryHint: URL.DirectoryHint = .inferFromPath) -> URL {
    URL(filePath: path.hasPrefix("~") ? "./" + path : path, directoryHint: directoryHint)
  }

  package static func exists(_ path: String, isDirectory: inout Bool) -> Bool {
    #if canImport(FoundationEssentials)
      return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
    #else
      var flag: ObjCBool = false
      defer { isDirectory = flag.boolValue }
      return FileManager.default.fileExists(atPath: path, isDirectory: &flag)
    #endif
  }

  /// The path of a file or a folder without symbolic links; nil if there is none.
  package static func realPath(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  /// The path to which the symbolic links at a path lead. There need not be a file.
  package static func followingLinks(_ path: String) throws -> String {
    var result = path
    for _ in 0..<40 {
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: result) else {
        return result
      }
      result = target.hasPrefix("/") ? target : join(folder(of: result), target)
    }
    throw Failure(path, "its symbolic links form a circle")
  }

  package static func isFolder(_ path: String) -> Bool {
    var isDirectory = false
    return exists(path, isDirectory: &isDirectory) && isDirectory
  }

  /// Whether a path leads to a pipe, a terminal or another device that takes text, such as `/dev/stdout`. Reading from it may
  /// never end, and a new file must not replace it.
  package static func isStream(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    let kind = status.st_mode & S_IFMT
    return kind == S_IFIFO || kind == S_IFCHR
  }

  /// The folder that contains a file; `.` for a name without a folder.
  package static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  package static func join(_ folder: String, _ name: String) -> String {
    folder.isEmpty || folder == "." ? name : folder.hasSuffix("/") ? folder + name : folder + "/" + name
  }

  /// Creates a folder and its missing parents.
  package static func makeFolder(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw Failure(path, "cannot be made", error)
    }
  }

  /// Creates a folder that must not exist yet, and its files. If two commands do this at the same time, one of them fails.
  ///
  /// - Parameter makeFiles: Creates the files of the folder. If it fails, the folder is removed with all that is in it, so
  ///   that the command can run again.
  package static func makeNewFolder(_ path: String, filledBy makeFiles: () throws -> Void) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    } catch {
      throw Failure(path, "cannot be made", error)
    }
    do {
      try makeFiles()
    } catch {
      try? FileManager.default.removeItem(atPath: path)
      throw error
    }
  }

  /// The names in a folder, sorted; empty if there is no such folder.
  package static func names(in folder: String) throws -> [String] {
    guard isFolder(folder) else { return [] }
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    } catch {
      throw Failure(folder, "cannot be read", error)
    }
  }

  /// Removes a file without contents that no program has locked. An interrupted command leaves such a file in the place of
  /// its output.
  ///
  /// - Returns: Whether the file was removed.
  package static func removeIfEmpty(_ path: String) -> Bool {
    guard let path = realPath(path) else { return false }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_size == 0
    else { return false }
    return unlink(path) == 0
  }

  package static func remove(_ path: String) throws {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw Failure(path, "cannot be removed", error)
    }
  }
}

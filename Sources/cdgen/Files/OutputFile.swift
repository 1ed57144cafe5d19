#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A file that a command makes.
struct OutputFile {
  var path: String
  var contents: String

  /// What the file has now; nil where there is none.
  func currentContents() throws -> String? {
    var isDirectory = false
    guard FileSystem.exists(path, isDirectory: &isDirectory) else { return nil }
    if isDirectory { throw Failure(path, "this is a folder, not a file") }
    do {
      return String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    } catch {
      throw Failure(path, "cannot be read", error)
    }
  }

  /// Writes the file if its bytes are to change, so that a build that depends on it has nothing to do
  /// otherwise. A reader sees the old contents or the new ones, never a part; folders are made as needed.
  ///
  /// - Returns: Whether it was written.
  @discardableResult
  func write() throws -> Bool {
    if try currentContents() == contents { return false }
    try FileSystem.makeFolder(FileSystem.folder(of: path))
    do {
      try Data(contents.utf8).write(to: URL(filePath: path), options: .atomic)
    } catch {
      throw Failure(path, "cannot be written", error)
    }
    return true
  }

  /// Writes a file that is not there yet. One that is there stays as it is, and is an error.
  func create() throws {
    do {
      try Data(contents.utf8).write(to: URL(filePath: path), options: .withoutOverwriting)
    } catch {
      throw Failure(path, "cannot be made", error)
    }
  }
}

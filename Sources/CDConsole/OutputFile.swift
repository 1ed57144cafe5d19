#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A text file that a command writes. A path that leads to a stream, such as `/dev/stdout`, gets the text too.
package struct OutputFile {
  package var path: String
  package var contents: String

  package init(path: String, contents: String) {
    self.path = path
    self.contents = contents
  }

  /// Whether the path leads to a stream instead of a file.
  package var isStream: Bool { FileSystem.isStream(path) }

  /// The present contents of the file; nil if it does not exist. For a stream, the function
  /// reads until the stream ends, which may never happen.
  package func currentContents() throws -> String? {
    try currentBytes().map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether the file exists and has exactly these contents. Bytes are compared, because texts are equal too if one of them
  /// has composed characters and the other one decomposed characters.
  package func isUpToDate() throws -> Bool {
    try !isStream && currentBytes()?.elementsEqual(contents.utf8) ?? false
  }

  private func currentBytes() throws -> Data? {
    var isDirectory = false
    guard FileSystem.exists(path, isDirectory: &isDirectory) else { return nil }
    if isDirectory { throw Failure(path, "this is a folder, not a file") }
    do {
      return try Data(contentsOf: FileSystem.url(path))
    } catch {
      throw Failure(path, "cannot be read", error)
    }
  }

  /// Writes the file only if its contents change, so that builds which depend on it do not run again. The write is
  /// atomic: a reader never sees a part of the new contents. Missing folders are created.
  ///
  /// - Parameter sources: The files of the model that the contents come from. If the path is one of them, the method throws.
  /// - Returns: Whether the file was written.
  @discardableResult
  package func write(from sources: [String] = []) throws -> Bool {
    if let own = FileSystem.realPath(path), sources.contains(where: { FileSystem.realPath($0) == own }) {
      throw Failure(path, "this is a file of the model; choose another --output")
    }
    if isStream {
      try Console.write(contents, toStream: path)
      return true
    }
    if try isUpToDate() { return false }
    // An atomic write gives the name to a new file, and would replace a symbolic link.
    let target = try FileSystem.followingLinks(path)
    try FileSystem.makeFolder(FileSystem.folder(of: target))
    do {
      try Data(contents.utf8).write(to: FileSystem.url(target), options: .atomic)
    } catch {
      throw Failure(path, "cannot be written", error)
    }
    return true
  }

  /// Writes a file that must not exist yet. An existing file stays unchanged, and is an error. If the contents cannot be
  /// written, no file stays, so that the command can run again.
  package func create() throws {
    if isStream { return try Console.write(contents, toStream: path) }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      throw Failure(path, "cannot be made", code: errno)
    }
    close(descriptor)
    do {
      try Data(contents.utf8).write(to: FileSystem.url(path), options: .atomic)
    } catch {
      unlink(path)
      throw Failure(path, "cannot be made", error)
    }
  }
}

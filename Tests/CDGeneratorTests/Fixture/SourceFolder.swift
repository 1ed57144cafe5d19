import Foundation

/// A folder for sources that a test makes, gone when the test is done.
struct SourceFolder {
  let url: URL

  static func with(_ body: (SourceFolder) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try body(SourceFolder(url: url))
  }

  func write(_ source: String, _ name: String) throws -> URL {
    let file = url.appending(path: name)
    try source.write(to: file, atomically: true, encoding: .utf8)
    return file
  }
}

import CDRuntime
import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Folders with copies of stores are for their owner alone, and do not stay when the owner was killed.
@Suite final class TemporaryFolderTests {
  private let parent: URL
  private let prefix = "copy-"

  init() throws {
    parent = FileManager.default.temporaryDirectory.appending(
      path: "TemporaryFolderTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: parent) }

  private func names() throws -> Set<String> {
    try Set(FileManager.default.contentsOfDirectory(atPath: parent.path))
  }

  /// A folder that a program has left, changed some seconds ago.
  private func leave(_ name: String, age: TimeInterval) throws -> URL {
    let folder = parent.appending(path: name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("a copy".utf8).write(to: folder.appending(path: "store"))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: folder.path)
    return folder
  }

  @Test func nobodyElseCanLookInside() throws {
    let folder = try TemporaryFolder(prefix: prefix, in: parent)
    let permissions = try FileManager.default.attributesOfItem(atPath: folder.root.path)[.posixPermissions]
    #expect(permissions as? Int == 0o700)
  }

  @Test func theFolderGoesWithItsOwner() throws {
    do {
      let folder = try TemporaryFolder(prefix: prefix, in: parent)
      try Data("a copy".utf8).write(to: folder.url.appending(path: "store"))
      #expect(try names() == [folder.root.lastPathComponent])
    }
    #expect(try names() == [])
  }

  @Test func thoseWithoutAnOwnerAreRemoved() throws {
    _ = try leave(prefix + UUID().uuidString, age: 3600)
    let folder = try TemporaryFolder(prefix: prefix, in: parent)
    #expect(try names() == [folder.root.lastPathComponent])
  }

  /// One that another program is making has no lock for a moment; other names are other people's.
  @Test func youngAndForeignOnesStay() throws {
    let young = try leave(prefix + UUID().uuidString, age: 5)
    let foreign = try leave("other-" + UUID().uuidString, age: 3600)
    let named = try leave(prefix + "of-mine", age: 3600)
    _ = try TemporaryFolder(prefix: prefix, in: parent)
    #expect(try names() == Set([young, foreign, named].map(\.lastPathComponent)))
  }

  @Test func onesInUseStay() throws {
    let folder = try TemporaryFolder(prefix: prefix, in: parent)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -3600)], ofItemAtPath: folder.root.path)
    let other = try TemporaryFolder(prefix: prefix, in: parent)
    #expect(try names() == [folder.root.lastPathComponent, other.root.lastPathComponent])
  }

  @Test func linksAreNotFollowed() throws {
    let victim = try leave("victim", age: 3600)
    let link = parent.appending(path: prefix + UUID().uuidString)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: victim)
    _ = try TemporaryFolder(prefix: prefix, in: parent)
    #expect(try String(contentsOf: victim.appending(path: "store"), encoding: .utf8) == "a copy")
  }

  @Test func aFolderThatCannotBeMadeIsSaid() throws {
    let file = try leave("file", age: 0).appending(path: "store")
    #expect { try TemporaryFolder(prefix: prefix, in: file) } throws: { error in
      if case StoreError.cannotCreate? = error as? StoreError { true } else { false }
    }
  }
}

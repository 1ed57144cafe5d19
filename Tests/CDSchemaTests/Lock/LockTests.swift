import CDModel
import CDSchema
import SampleModels
import Testing

/// What a model with locked versions says after a change.
@Suite("The lock")
struct LockTests {
  private static let head = "id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\n"

  private static let version = """
    enums:
      Kind: { type: String, cases: [a, b] }
    composites:
      Size: { width: Int32, height: Int32 }
    entities:
      Book:
        doc: A book.
        attributes:
          title: String
          kind: Kind
          size: Size?
        relationships:
          author: { to: Author?, inverse: books }
        indexes: [[title]]
        fetches:
          all: { sort: [title] }
        fetched:
          same: { entity: Book, where: title == $FETCH_SOURCE.title }
      Author:
        attributes: { name: String }
        unique: [[name]]
        relationships: { books: { to: [Book], inverse: author } }
    configurations: { Cloud: [Book, Author] }

    """

  private static func files(version: String = version, lock: String) -> [String: [UInt8]] {
    ["model.yaml": Array(head.utf8), "1.yaml": Array(version.utf8), LockText.fileName: Array(lock.utf8)]
  }

  private static func lock() throws -> String {
    let loaded = ModelLoader.load(
      name: "Case", files: ["model.yaml": Array(head.utf8), "1.yaml": Array(version.utf8)])
    #expect(loaded.diagnostics == [])
    return LockText.text(of: [LockedVersion(try #require(loaded.model?.version(1)))])
  }

  /// The diagnostics with the version's file and the lock changed by replacing a text.
  private static func diagnostics(
    of replaced: String = "", with text: String = "", in lock: String? = nil
  ) throws -> [String] {
    var version = version
    if !replaced.isEmpty {
      let range = try #require(version.firstRange(of: replaced))
      version.replaceSubrange(range, with: text)
    }
    let loaded = ModelLoader.load(name: "Case", files: files(version: version, lock: try lock ?? Self.lock()))
    #expect((loaded.model == nil) == loaded.hasErrors)
    return loaded.diagnostics.map(\.description)
  }

  @Test func `The name of a configuration may contain dots and blanks`() throws {
    let version = """
      entities:
        Book: { attributes: { title: String } }
      configurations: { Cloud.Public: [Book], Cloud.Private: [Book], My Store: [Book], Cloud: [Book] }

      """
    let loaded = ModelLoader.load(
      name: "Case", files: ["model.yaml": Array(Self.head.utf8), "1.yaml": Array(version.utf8)])
    #expect(loaded.diagnostics == [])
    let lock = LockText.text(of: [LockedVersion(try #require(loaded.model?.version(1)))])
    let names = lock.split(separator: "\n").filter { $0.hasPrefix("  configuration ") }
      .map { $0.split(separator: " ").dropFirst().dropLast().joined(separator: " ") }
    #expect(names == ["Cloud", "Cloud.Private", "Cloud.Public", "My Store"])
    let again = ModelLoader.load(name: "Case", files: Self.files(version: version, lock: lock))
    #expect(again.diagnostics == [])
    #expect(again.lockedVersions.map(\.number) == [1])
  }

  /// So that neither the form of the file nor the rules for digests change by accident.
  @Test func `The file's form`() throws {
    #expect(
      try Self.lock() == """
        # The released versions of this model. Stores of them exist, so their files never change.
        # 'cdgen lock' adds a version. After a merge keep the versions of both sides. To take back a lock that was
        # a mistake, before the version was released, remove its block.
        lock 1

        version 1
          data 3c8dc2c666792447b078e72e9d4f31db6450e6f547b1face79a0a338fbf1d70b
          layout a3b7fe3a5645c2c0441ad85fa7a49b7ded555e5c7a4cfe5aff9705267549cdc0
          definition fa359a03a7e9778a711ce305aa892bf911b2d12a6a3e7ccb77dfb15b7f1941aa
          basedOn d628a5444862e222
          enum Kind 66e9b8efb117ffe8
          composite Size caa871904ac86d12
          field Size.height 8ec7b7bded7db5ac
          field Size.width e349402ae30a1741
          configuration Cloud 939bd60b9b7e13dd
          entity Author 13c8ebf6d36713b0
          attribute Author.name 652b750ba676bcb5
          relationship Author.books 46cdf2ffc785c74a
          unique Author e1c3218feb36222d
          entity Book c1d59141cfeb27d4
          attribute Book.kind 4e749b16ad181682
          attribute Book.size d578a241bfd1d835
          attribute Book.title 98a6ef72f365b9dc
          relationship Book.author 08a2ba10ac8992b4
          fetched Book.same 45196876ab29b597
          fetch Book.all 3d4fad11446a54a2
          indexes Book d1f253f1c7ad9749

        """)
  }

  @Test(arguments: [
    ("", ""), ("A book.", "A good book."), ("enums:", "# a comment\nenums:"),
    ("entities:", "label: First\nentities:"),
    ("      title: String\n      kind: Kind\n", "      kind: Kind\n      title: String\n"),
  ])
  func `What is no change of the definition is none of the lock`(old: String, new: String) throws {
    #expect(try Self.diagnostics(of: old, with: new) == [])
  }

  private static let undo =
    ": stores of the version exist; undo this, and change a new version ('cdgen add-version')"

  @Test(arguments: [
    ("title: String", "title: String?", "1.yaml:9:7", "attribute 'title' of 'Book' was changed since"),
    ("      kind: Kind\n", "", "1.yaml:6:3", "attribute 'kind' of 'Book' was removed since"),
    (
      "kind: Kind", "kind: Kind\n      more: Int64", "1.yaml:11:7",
      "attribute 'more' of 'Book' was added since"
    ),
    ("[a, b]", "[b, a]", "1.yaml:2:3", "enum 'Kind' was changed since"),
    ("height: Int32", "height: Int64", "1.yaml:4:25", "field 'height' of 'Size' was changed since"),
    (
      "Author?, inverse: books }", "Author?, inverse: books, onDelete: deny }", "1.yaml:13:7",
      "relationship 'author' of 'Book' was changed since"
    ),
    (
      "indexes: [[title]]", "indexes: [[-title]]", "1.yaml:14:5",
      "'indexes' of 'Book' was changed since"
    ),
    ("    indexes: [[title]]\n", "", "1.yaml:6:3", "'indexes' of 'Book' was removed since"),
    ("    unique: [[name]]\n", "    unique: [[name], [name, books]]\n", "", ""),
    ("sort: [title]", "sort: [-title]", "1.yaml:16:7", "fetch 'all' of 'Book' was changed since"),
    (
      "where: title ==", "where: title !=", "1.yaml:18:7",
      "fetched property 'same' of 'Book' was changed since"
    ),
    ("[Book, Author] }", "[Book] }", "1.yaml:23:19", "configuration 'Cloud' was changed since"),
    ("doc: A book.", "class: MyBook", "1.yaml:6:3", "entity 'Book' was changed since"),
    (
      "configurations: { Cloud: [Book, Author] }\n", "", "1.yaml:1:1",
      "configuration 'Cloud' was removed since"
    ),
    (
      "configurations:", "  New: { attributes: { a: String } }\nconfigurations:", "1.yaml:23:3",
      "entity 'New' was added since"
    ),
  ])
  func `A change is reported at the changed element`(
    old: String, new: String, place: String, what: String
  ) throws {
    let found = try Self.diagnostics(of: old, with: new)
    guard !place.isEmpty else {
      // Its own mistakes come first: what a wrong file holds is not known.
      #expect(!found.isEmpty && !found.contains { $0.contains("locked") })
      return
    }
    #expect(found == ["\(place): error: version 1 is locked, and \(what)\(Self.undo)"])
  }

  @Test func `Every change is reported`() throws {
    let found = try Self.diagnostics(
      of: "title: String\n      kind: Kind\n      size: Size?",
      with: "titel: String\n      kind: Kind?\n      size: Size")
    #expect(found.filter { $0.contains("is locked, and") }.count == 0, "the file has mistakes of its own")
    let more = try Self.diagnostics(
      of: "kind: Kind\n      size: Size?", with: "kind: Kind?\n      size: Size")
    #expect(more.count == 2)
  }

  // MARK: The file

  @Test func `A missing file of a locked version is an error`() throws {
    let loaded = ModelLoader.load(
      name: "Case",
      files: [
        "model.yaml": Array(Self.head.utf8), "2.yaml": Array(Self.version.utf8),
        LockText.fileName: Array(try Self.lock().utf8),
      ])
    #expect(
      loaded.diagnostics.map(\.description) == [
        "versions.lock:6:1: error: version 1 is locked, and its file 1.yaml is missing: stores of it exist, so "
          + "restore the file from version control"
      ])
  }

  @Test(arguments: [
    (
      "",
      "versions.lock:1:1: error: this is not a file of locked versions, which begins with a line 'lock 1'; "
    ),
    ("lock 2\n", "versions.lock:1:1: error: this is 'lock 2', and this release of cdgen reads 'lock 1'"),
    ("lock 1\n<<<<<<< HEAD\n", "versions.lock:2:1: error: a merge was left unfinished here: "),
    ("lock 1\n  data 12\n", "versions.lock:2:3: error: 'data' belongs to no version; "),
    ("lock 1\nversion x\n", "versions.lock:2:1: error: 'version' is followed by a version's number"),
    ("lock 1\nversion 1\n", "versions.lock:2:1: error: version 1 lacks its data, layout, definition; "),
    ("lock 1\nversion 1\n  data 12\n", "versions.lock:3:3: error: 'data' is followed by one hash of 64"),
    (
      "lock 1\nversion 1\n  atribute A.b 0123456789abcdef\n",
      "versions.lock:3:3: error: 'atribute A.b 0123456789abcdef' is not a line of this file"
    ),
    (
      "lock 1\nversion 1\n  attribute A.b 0123\n",
      "versions.lock:3:3: error: attribute 'b' of 'A' is listed once"
    ),
  ])
  func `A damaged file is an error at its line`(lock: String, message: String) throws {
    let found = try Self.diagnostics(in: lock)
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix(message) ?? false, "\(found)")
  }

  @Test func `A hash that was altered is found where every element is right`() throws {
    let lock = try Self.lock()
    let line = try #require(lock.split(separator: "\n").first { $0.hasPrefix("  definition ") })
    let wrong = lock.replacingOccurrences(of: line, with: "  definition " + String(repeating: "0", count: 64))
    #expect(
      try Self.diagnostics(in: wrong) == [
        "versions.lock:9:3: error: these hashes do not match version 1, although none of its elements has changed "
          + "since the lock; restore the file from version control, or remove the block and run 'cdgen lock'"
      ])
  }

  @Test func `Both sides of a merge may have locked a version`() throws {
    let lock = try Self.lock()
    let block = try #require(lock.firstRange(of: "version 1")).lowerBound
    #expect(try Self.diagnostics(in: lock + "\n" + lock[block...]) == [])
    let other = lock[block...].replacingOccurrences(
      of: "attribute Book.title ", with: "attribute Book.titel ")
    let found = try Self.diagnostics(in: lock + "\n" + other)
    #expect(found.count == 1)
    #expect(found.first?.contains("is already locked in line 6, with other hashes") ?? false, "\(found)")
  }

  @Test(arguments: HashChange.all)
  func `Some element's digest tells of a change of the definition`(change: HashChange) throws {
    let before = try SampleModel.version()
    var after = before
    try change.make(&after)
    let isAltered = LockedVersion(before).elements != LockedVersion(after).elements
    #expect(isAltered == change.alters.contains(.definition))
  }

  @Test func `Line ends of another system are read`() throws {
    #expect(try Self.diagnostics(in: try Self.lock().replacingOccurrences(of: "\n", with: "\r\n")) == [])
  }
}

extension String {
  fileprivate func replacingOccurrences(of old: some StringProtocol, with new: String) -> String {
    replacing(String(old), with: new)
  }
}

extension Substring {
  fileprivate func replacingOccurrences(of old: some StringProtocol, with new: String) -> String {
    String(replacing(String(old), with: new))
  }
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// How a store's contents stand in a file of their own kind: XML and binary stores have one each, and an app may
/// bring its own.
///
/// A file of such a kind is read whole when the store is opened, and written whole by each save; in between its
/// objects are in memory, in tables as a SQLite store has them, so that fetches, rules and migrations are the same
/// for all kinds. A format sees rows of plain values, one after the other, and need not know what they mean:
///
/// ```swift
/// struct LineFormat: StoreFormat {
///   let name = "lines"
///
///   func recognizes(_ start: [UInt8]) -> Bool { start.starts(with: "lines 1\n".utf8) }
///
///   func write(_ contents: StoreContents, to output: StoreOutput) throws {
///     try output.write("lines 1\n")
///     for (key, value) in contents.metadata.sorted(by: { $0.key < $1.key }) {
///       try output.write("m \(Data(key.utf8).base64EncodedString()) \(Data(value.utf8).base64EncodedString())\n")
///     }
///     for table in contents.tables {
///       try contents.forEachRow(of: table) { row in
///         try output.write("\(table.name): \(row)\n")
///       }
///     }
///   }
///
///   func read(_ input: StoreInput, into builder: StoreBuilder) throws {
///     // Reads what `write` wrote: `builder.begin(metadata:)` first, then `builder.add(_:to:)` for each row.
///     throw StoreFormatError(.syntax("this example does not read"))
///   }
/// }
/// ```
///
/// A store is opened with its format:
///
/// ```swift
/// let location = StoreLocation.custom(url, LineFormat())
/// ```
///
/// What is written goes to a new file, which takes the place of the old one when it is whole and on the disk:
/// a format never sees half a file of its own, unless somebody else cut it. It should notice that, and anything else
/// that it did not write, and throw a ``StoreFormatError``.
///
/// ## Topics
///
/// ### What a format reads and writes
/// - ``StoreContents``
/// - ``StoreBuilder``
/// - ``StoreTable``
/// - ``StoreColumn``
/// - ``StoreValue``
///
/// ### Files
/// - ``StoreInput``
/// - ``StoreOutput``
/// - ``StoreFormatError``
public protocol StoreFormat: Sendable {
  /// The format's name, for errors and to tell two formats apart.
  var name: String { get }

  /// Whether a file is of this format, by its first bytes: 512 at the most.
  func recognizes(_ start: [UInt8]) -> Bool

  /// Whether a file is of this format, where its first bytes may not tell: unless implemented, they do.
  func recognizes(_ start: [UInt8], of url: URL) -> Bool

  /// Whether the format is there to read the stores of others: false unless implemented. Such a store is opened to be
  /// read alone, whatever its description says, and never changed, migrated or removed.
  var isReadOnly: Bool { get }

  /// Writes all rows of a store.
  ///
  /// - Throws: What the output and the contents throw, or an error of the format's own: the save fails with it, and
  ///   the old file stays.
  func write(_ contents: StoreContents, to output: StoreOutput) throws

  /// Reads what ``write(_:to:)`` wrote.
  ///
  /// Errors of the builder are to be passed on: it may end the reading by one, when it knows enough.
  ///
  /// - Throws: ``StoreFormatError`` for a file that is damaged or none of this format.
  func read(_ input: StoreInput, into builder: StoreBuilder) throws
}

extension StoreFormat {
  /// Asks ``recognizes(_:)``.
  public func recognizes(_ start: [UInt8], of url: URL) -> Bool { recognizes(start) }

  /// False: the format writes too.
  public var isReadOnly: Bool { false }
}

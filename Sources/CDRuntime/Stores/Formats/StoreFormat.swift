#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A file format for stores. There are formats for XML and binary stores, and an app can add its own.
///
/// The whole file is read when the store is opened, and each save writes the whole file. In between, the objects are in
/// memory, in the same tables as in a SQLite store. So fetches, rules and migrations are the same for all formats. A
/// format only reads and writes rows of plain values, and need not know their meaning:
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
/// You open a store with its format:
///
/// ```swift
/// let location = StoreLocation.custom(url, LineFormat())
/// ```
///
/// A save writes to a new file. When this file is complete and on the disk, it replaces the old one. So a format never
/// sees an incomplete file of its own, unless another program has truncated it. A format should detect an incomplete
/// file, and everything else that it did not write, and throw a ``StoreFormatError``.
///
/// ## Topics
///
/// ### Contents that a format reads and writes
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
  /// The name of the format. Errors show it, and two formats with the same name are considered equal.
  var name: String { get }

  /// Returns whether a file has this format, judged by its first bytes (at most 512).
  func recognizes(_ start: [UInt8]) -> Bool

  /// Returns whether a file has this format, if the first bytes are not enough to decide. By default, the first bytes
  /// decide.
  func recognizes(_ start: [UInt8], of url: URL) -> Bool

  /// Whether the format can only read, such as a format for stores of other programs. By default false. A store of a
  /// read-only format is opened for reading only, whatever its description says. It is never changed, migrated or
  /// removed.
  var isReadOnly: Bool { get }

  /// Writes all rows of a store.
  ///
  /// - Throws: An error of the output or the contents, or an error of your own. The save then fails with this error,
  ///   and the old file stays.
  func write(_ contents: StoreContents, to output: StoreOutput) throws

  /// Reads a file that ``write(_:to:)`` has written.
  ///
  /// Pass on the errors of the builder. It may throw an error to end the reading when it knows enough.
  ///
  /// - Throws: ``StoreFormatError`` for a file that is damaged or has another format. The opening of the store throws an
  ///   error of your own as it is, if it conforms to `PresentableError`, and otherwise as
  ///   ``StoreError/formatFailed(_:format:reason:)``.
  func read(_ input: StoreInput, into builder: StoreBuilder) throws
}

extension StoreFormat {
  /// Calls ``recognizes(_:)``.
  public func recognizes(_ start: [UInt8], of url: URL) -> Bool { recognizes(start) }

  /// False: by default, a format writes too.
  public var isReadOnly: Bool { false }
}

public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An error that explains why a Core Data store cannot be read or copied. The store is unchanged: this module never
/// writes to it.
///
/// ```swift
/// do {
///   _ = try CoreDataStore(at: url).version(in: model)
/// } catch CoreDataStoreError.noFittingVersion(_, _, let differences) {
///   for (number, found) in differences.sorted(by: { $0.key < $1.key }) {
///     print(number, found.joined(separator: "; "))
///   }
/// }
/// ```
public enum CoreDataStoreError: Error, Hashable, Sendable {
  /// There is no file, or it cannot be read or copied.
  case unreadable(URL, reason: String)
  /// The file is not a SQLite database.
  case notADatabase(URL)
  /// The file is a SQLite database that Core Data has not created: a table is missing, or is not an ordinary table with
  /// the expected columns.
  case notACoreDataStore(URL, reason: String)
  /// The file is cut off, or its contents are not what SQLite or Core Data wrote.
  case damaged(URL, reason: String)
  /// Another program was writing to the store while it was read.
  case changing(URL)
  /// The model has no version with this number.
  case unknownVersion(URL, model: String, number: Int)
  /// No version of the model fits the store. The differences are listed by the number of the version.
  case noFittingVersion(URL, model: String, differences: [Int: [String]])
  /// Several versions have the store's tables, and differ in other ways.
  case severalFittingVersions(URL, model: String, numbers: [Int])
  /// The new store cannot hold some values of the store.
  case losses(URL, CoreDataLosses)
  /// SQLite reported any other error. The code is its extended result code.
  case sqlite(URL, code: Int32, message: String)
}

extension CoreDataStoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unreadable(let url, let reason): "\(url.path(percentEncoded: false)) cannot be read: \(reason)"
    case .notADatabase(let url): "\(url.path(percentEncoded: false)) is not a SQLite database"
    case .notACoreDataStore(let url, let reason):
      "\(url.path(percentEncoded: false)) is not a store of Core Data: \(reason)"
    case .damaged(let url, let reason): "the store \(url.path(percentEncoded: false)) is damaged: \(reason)"
    case .changing(let url):
      "another program is writing to the store \(url.path(percentEncoded: false)); close it and try again"
    case .unknownVersion(let url, let model, let number):
      "\(url.path(percentEncoded: false)) cannot be read as version \(number) of model '\(model)', because the "
        + "model has no version of that number"
    case .noFittingVersion(let url, let model, let differences):
      "the store \(url.path(percentEncoded: false)) matches no version of model '\(model)':\n"
        + differences.sorted { $0.key < $1.key }.map { number, found in
          "  version \(number): " + Self.list(found)
        }.joined(separator: "\n")
    case .severalFittingVersions(let url, let model, let numbers):
      "the store \(url.path(percentEncoded: false)) matches the versions "
        + "\(numbers.map(String.init).joined(separator: ", ")) of model "
        + "'\(model)', which have the same tables; name the right one by its number"
    case .losses(let url, let losses):
      "some data of the store \(url.path(percentEncoded: false)) cannot be copied:\n\(losses)"
    case .sqlite(let url, let code, let message):
      "SQLite cannot read the store \(url.path(percentEncoded: false)): \(message) (\(code))"
    }
  }

  /// The first of several differences. A version that is very different has many.
  private static func list(_ differences: [String]) -> String {
    let shown = differences.prefix(5).joined(separator: "; ")
    let rest = differences.count - 5
    return rest > 0 ? shown + "; and \(rest) more" : shown
  }
}

extension CoreDataStoreError: PresentableError {
  public var situation: ErrorSituation {
    switch self {
    case .unreadable: .inputOutput
    case .notADatabase, .notACoreDataStore: .foreignFile
    case .damaged: .storeDamaged
    case .changing: .storeBusy
    case .losses, .noFittingVersion, .severalFittingVersions: .migrationFailed
    case .sqlite: .inputOutput
    case .unknownVersion: .mistakeOfApp
    }
  }
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ManagedObjectModel {
  /// Reads a model that `cdgen compile` has written.
  ///
  /// - Throws: ``ModelDecodingError`` for a file that holds no model, and Foundation's error for one that cannot be
  ///   read.
  public init(contentsOf url: URL) throws {
    try self.init(canonicalJSON: String(decoding: Data(contentsOf: url), as: UTF8.self))
  }
}

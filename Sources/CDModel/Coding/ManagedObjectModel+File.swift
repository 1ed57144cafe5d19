#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ManagedObjectModel {
  /// Reads a model file that `cdgen compile` wrote.
  ///
  /// - Throws: `ModelDecodingError` if the file does not contain a model, and Foundation's error if it cannot be
  ///   read.
  public init(contentsOf url: URL) throws {
    try self.init(canonicalJSON: String(decoding: Data(contentsOf: url), as: UTF8.self))
  }
}

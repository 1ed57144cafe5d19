import ArgumentParser
import CDRuntime
import Foundation

/// The types of stores that the command line can create.
enum StoreType: String, CaseIterable, ExpressibleByArgument {
  case sqlite, xml, binary

  func location(_ url: URL) -> StoreLocation {
    switch self {
    case .sqlite: .sqlite(url)
    case .xml: .xml(url)
    case .binary: .binary(url)
    }
  }

  /// Recognises the type of an existing store.
  init(of url: URL) throws {
    switch try StoreLocation(recognizing: url) {
    case .xml: self = .xml
    case .binary: self = .binary
    case .sqlite, .inMemory, .custom, .engine: self = .sqlite
    }
  }
}

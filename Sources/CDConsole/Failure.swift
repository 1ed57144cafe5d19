import ArgumentParser
package import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The reason why a command failed, in words for its user, such as a file that cannot be written.
package struct Failure: Error {
  /// The path of the file or folder; nil if there is none.
  private var path: String?
  private var message: String

  package init(_ message: String) { self.message = message }

  package init(_ path: String?, _ message: String) {
    self.path = path
    self.message = message
  }

  /// Creates a failure of an operation on a file, with the system's reason.
  package init(_ path: String, _ action: String, _ error: any Error) {
    self.init(path, "\(action): \(Self.reason(error))")
  }

  /// Creates a failure of an operation on a file.
  ///
  /// - Parameter code: The system's error, as in `errno`.
  package init(_ path: String, _ action: String, code: Int32) {
    self.init(path, "\(action): \(Self.reason(code))")
  }

  /// Creates the failure of a command that was given a version that the model does not have.
  package init(_ path: String, unknownVersion number: Int, of model: ManagedObjectModel) {
    let known = model.versions.map { String($0.number) }.joined(separator: ", ")
    self.init(path, "the model has no version \(number); it has \(known)")
  }

  private static func reason(_ error: any Error) -> String {
    let underlying = (error as? CocoaError)?.underlying
    if let code = (underlying as? POSIXError ?? error as? POSIXError)?.code {
      return reason(code.rawValue)
    }
    guard let error = error as? CocoaError else { return String(describing: error) }
    return switch error.code {
    case .fileWriteFileExists: "there is a file of this name already"
    case .fileReadNoSuchFile, .fileNoSuchFile: "there is no such file or folder"
    case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
    case .fileWriteOutOfSpace: "no space left"
    default: "input or output failed (\(error.code.rawValue))"
    }
  }

  private static func reason(_ code: Int32) -> String {
    String(cString: strerror(code)).lowercasingFirst
  }
}

extension Failure: CustomStringConvertible {
  package var description: String { (path.map { "\($0): " } ?? "") + message }

  /// The failure as compilers write it: `path: error: message`.
  package var diagnostic: String { (path.map { "\($0): " } ?? "") + "error: \(message)" }
}

extension String {
  fileprivate var lowercasingFirst: String { prefix(1).lowercased() + dropFirst() }
}

/// Runs a command's work. A failure is printed in a compiler's form, and the exit status is then 1.
package func reportingFailures<T>(_ work: () throws -> T) throws -> T {
  do {
    return try work()
  } catch let failure as Failure {
    Console.report(failure.diagnostic)
    throw ExitCode.failure
  } catch let failure as OutputFailure {
    Console.report("error: \(failure)")
    throw ExitCode.failure
  }
}

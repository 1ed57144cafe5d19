public import CDRuntime

/// The reason why a text is not the URL of a server.
///
/// ```swift
/// do {
///   let server = try PostgresServer(url: "postgresql://db.example.com/library?schema=tenant_7")
/// } catch let error as ServerURLError {
///   print(error)
/// }
/// ```
public struct ServerURLError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The mistake in the URL. The text does not contain the password.
  public let reason: String

  public var description: String { "the URL of the server cannot be used: \(reason)" }
}

extension ServerURLError: PresentableError {
  public var situation: ErrorSituation { .unreadableText }
}

extension PostgresServer {
  /// Reads a URL such as `postgresql://user:password@host1:5432,host2/database?schema=tenant_7`.
  ///
  /// The parameters of the query are `schema`, `sslmode`, `sslrootcert`, `service`, `pool_size`, `pooled`, `features`,
  /// `connect_timeout`, `statement_timeout`, `replay_timeout`, `application_name`, and `host`, `port`, `dbname`, `user` and `password` for
  /// what is not before the query. Timeouts are in seconds.
  ///
  /// - Throws: ``ServerURLError``.
  public init(url: String) throws(ServerURLError) {
    guard let scheme = ["postgresql://", "postgres://"].first(where: { url.lowercased().hasPrefix($0) })
    else {
      throw ServerURLError(reason: "it does not begin with postgresql://")
    }
    self.init()
    let rest = url.dropFirst(scheme.count)
    try Self.checkLogin(rest)
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    try readAuthority(path[0])
    if path.count > 1, !path[1].isEmpty { database = try Self.decoded(path[1], "the database") }
    if parts.count > 1 { try readQuery(parts[1]) }
    if schema.isEmpty || schema.utf8.contains(0) { throw ServerURLError(reason: "it has no usable schema") }
    guard schema.utf8.count <= PostgresTables.longestName else {
      throw ServerURLError(reason: "the schema's name has more than \(PostgresTables.longestName) bytes")
    }
  }

  /// Refuses a URL whose user or password seems to have an unescaped `/` or `?`. A part of the password would be taken for the
  /// host or the database, which errors show.
  private static func checkLogin(_ rest: Substring) throws(ServerURLError) {
    guard let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" }), end > rest.startIndex,
      let at = rest.lastIndex(of: "@"), at > end, rest[..<at].contains(":")
    else { return }
    // After a login, the value of a parameter may have an @.
    guard !rest[..<end].contains("@") || rest.prefix(while: { $0 != "?" })[end...].contains("@") else {
      return
    }
    throw ServerURLError(
      reason: "write a / or a ? in the user or the password as %2F or %3F, and an @ after the host as %40")
  }

  private mutating func readAuthority(_ authority: Substring) throws(ServerURLError) {
    var addresses = authority
    if let at = authority.lastIndex(of: "@") {
      let login = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      user = try Self.decoded(login[0], "the user")
      if login.count > 1 { password = try Self.decoded(login[1], "the password") }
      addresses = authority[authority.index(after: at)...]
    }
    if addresses.isEmpty { return }
    for address in addresses.split(separator: ",", omittingEmptySubsequences: false) {
      hosts.append(try Self.host(address))
    }
  }

  private static func host(_ address: Substring) throws(ServerURLError) -> Host {
    var name = address
    var port: Substring?
    if address.hasPrefix("[") {
      guard let end = address.firstIndex(of: "]") else {
        throw ServerURLError(reason: "an address lacks its closing bracket")
      }
      name = address[address.index(after: address.startIndex)..<end]
      let after = address[address.index(after: end)...]
      if !after.isEmpty {
        guard after.hasPrefix(":") else { throw ServerURLError(reason: "'\(after)' is not a port") }
        port = after.dropFirst()
      }
    } else if let colon = address.lastIndex(of: ":") {
      name = address[..<colon]
      port = address[address.index(after: colon)...]
    }
    let host = try decoded(name, "the host")
    guard !host.isEmpty else { throw ServerURLError(reason: "an address has no host") }
    return Host(
      host, port: try port.map { port throws(ServerURLError) in try number(port, "the port", 1...65535) })
  }

  private mutating func readQuery(_ query: Substring) throws(ServerURLError) {
    var mode: String?
    var certificates: String?
    for item in query.split(separator: "&") {
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let key = String(pair[0])
      guard pair.count == 2 else { throw ServerURLError(reason: "the parameter '\(key)' has no value") }
      let value = try Self.decoded(pair[1], "the parameter '\(key)'")
      switch key {
      case "schema": schema = value
      case "sslmode": mode = value
      case "sslrootcert": certificates = value
      case "service": service = value
      case "host": hosts = value.split(separator: ",").map { Host(String($0), port: hosts.first?.port) }
      case "port":
        let port = try Self.number(pair[1], "the port", 1...65535)
        hosts = hosts.map { Host($0.name, port: $0.port ?? port) }
      case "dbname": database = value
      case "user": user = value
      case "password": password = value
      case "pool_size": poolSize = try Self.number(pair[1], "the size of the pool", 1...10_000)
      case "application_name": applicationName = value
      case "pooled": isPooled = try Self.flag(value, key)
      case "features":
        guard let found = Features(rawValue: value) else {
          throw ServerURLError(reason: "the features are '\(value)' and not one of postgresql and common")
        }
        features = found
      case "connect_timeout": connectTimeout = try Self.seconds(value, key)
      case "statement_timeout": statementTimeout = try Self.seconds(value, key)
      case "replay_timeout": replayTimeout = try Self.seconds(value, key)
      default: throw ServerURLError(reason: "the parameter '\(key)' is unknown")
      }
    }
    try setTLS(mode, certificates)
  }

  private mutating func setTLS(_ mode: String?, _ certificates: String?) throws(ServerURLError) {
    switch mode {
    case nil: if let certificates { tls = .verifyFull(rootCertificates: certificates) }
    case "verify-full": tls = .verifyFull(rootCertificates: certificates)
    case "verify-ca": tls = .verifyCertificate(rootCertificates: certificates)
    case "require": tls = .encrypt
    case "disable": tls = .none
    // The other modes of libpq continue without encryption if somebody in between wants that.
    case let mode?:
      throw ServerURLError(reason: "'\(mode)' is not one of verify-full, verify-ca, require and disable")
    }
  }

  // MARK: Values

  private static func decoded(_ text: Substring, _ part: String) throws(ServerURLError) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      guard digits.utf8.count == 2, digits.first != "+", let value = UInt8(digits, radix: 16), value != 0
      else {
        throw ServerURLError(reason: "\(part) has a percent sign without two hexadecimal digits")
      }
      bytes.append(value)
      rest.removeFirst(2)
    }
    guard let result = String(validating: bytes, as: UTF8.self) else {
      throw ServerURLError(reason: "\(part) is not UTF-8")
    }
    return result
  }

  private static func number(
    _ text: Substring, _ part: String, _ range: ClosedRange<Int>
  ) throws(ServerURLError) -> Int {
    guard let number = Int(text), range.contains(number) else {
      throw ServerURLError(
        reason: "\(part) is '\(text)' and not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  private static func seconds(_ text: String, _ key: String) throws(ServerURLError) -> Double {
    guard let number = Double(text), number > 0, number <= 1_000_000 else {
      throw ServerURLError(reason: "the parameter '\(key)' is '\(text)' and not a number of seconds")
    }
    return number
  }

  private static func flag(_ text: String, _ key: String) throws(ServerURLError) -> Bool {
    switch text {
    case "true", "1", "yes": return true
    case "false", "0", "no": return false
    default: throw ServerURLError(reason: "the parameter '\(key)' is '\(text)' and not true or false")
    }
  }
}

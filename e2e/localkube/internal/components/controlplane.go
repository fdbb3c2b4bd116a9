package components

import (
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/pki"
)

const etcdURL = "http://127.0.0.1:2379"

// etcd listens on loopback only, without TLS: nothing but the API server and
// pods with hostNetwork share that network namespace. A cluster that is thrown
// away needs no fsync, which is most of what etcd would wait for.
func etcd(o layout.Options) Component {
	return daemon(o, Etcd, etcdURL+"/health", nil,
		"--name="+layout.NodeName,
		"--data-dir="+o.Dir("etcd"),
		"--listen-client-urls="+etcdURL,
		"--advertise-client-urls="+etcdURL,
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster="+layout.NodeName+"=http://127.0.0.1:2380",
		"--heartbeat-interval=10", // a single member elects itself: why wait a second
		"--election-timeout=100",
		"--unsafe-no-fsync",
		"--auto-compaction-mode=periodic",
		"--auto-compaction-retention=5m",
	)
}

// apiServer reaches the kubelet by IP, since nobody resolves the node's name.
func apiServer(o layout.Options) Component {
	return daemon(o, APIServer, layout.APIServer+"/readyz", []string{Etcd},
		"--bind-address="+layout.NodeIP,
		"--advertise-address="+layout.NodeIP,
		"--secure-port=6443",
		"--etcd-servers="+etcdURL,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--client-ca-file="+o.PKI("ca.crt"),
		"--tls-cert-file="+o.PKI("apiserver.crt"),
		"--tls-private-key-file="+o.PKI("apiserver.key"),
		"--kubelet-certificate-authority="+o.PKI("ca.crt"),
		"--kubelet-client-certificate="+o.PKI("apiserver-kubelet-client.crt"),
		"--kubelet-client-key="+o.PKI("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--proxy-client-cert-file="+o.PKI("front-proxy-client.crt"),
		"--proxy-client-key-file="+o.PKI("front-proxy-client.key"),
		"--requestheader-client-ca-file="+o.PKI("ca.crt"),
		"--requestheader-allowed-names="+pki.FrontProxy,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--service-account-issuer=https://kubernetes.default.svc."+layout.Domain,
		"--service-account-key-file="+o.PKI("sa.pub"),
		"--service-account-signing-key-file="+o.PKI("sa.key"),
		"--service-cluster-ip-range="+layout.ServiceRange,
	)
}

// controllerManager asks for some forty service account tokens before its first
// controller starts; with the usual 20 requests a second that takes five seconds.
func controllerManager(o layout.Options) Component {
	kubeconfig := o.Kubeconfig(ControllerManager)
	return daemon(o, ControllerManager, "https://"+layout.NodeIP+":10257/healthz", []string{APIServer},
		"--bind-address="+layout.NodeIP,
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--leader-elect=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+o.PKI("sa.key"),
		"--root-ca-file="+o.PKI("ca.crt"),
		"--cluster-signing-cert-file="+o.PKI("ca.crt"),
		"--cluster-signing-key-file="+o.PKI("ca.key"),
		"--service-cluster-ip-range="+layout.ServiceRange,
	)
}

func scheduler(o layout.Options) Component {
	kubeconfig := o.Kubeconfig(Scheduler)
	return daemon(o, Scheduler, "https://"+layout.NodeIP+":10259/healthz", []string{APIServer},
		"--bind-address="+layout.NodeIP,
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--leader-elect=false",
	)
}
